#!/usr/bin/env bash
# Opens film.html in headless Chromium, uses it, and compares what it shows with its data: every frame, every cell,
# by pointer and by keyboard; in light and dark, wide and narrow; without a network.
#
#   film_check.sh FILM_SAMPLE    the program that writes the films to open
#
# Ends with 77, for "skipped", where there is no Chromium.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
sample=$1
script=$here/film_check.js
. "$here/open.sh"

mkdir "$work/pages"
"$sample" "$work/pages"
# 13 frames of 2 sentences with 2 causal panels of 8 x 8, 36 cells of each in sight.
for width in 1200 360; do
  for scheme in 0 1; do
    check full $width $scheme "ok frames=13 cells=3328 hovered=1872"
  done
done
check single 360 1 "ok frames=1 cells=16 hovered=16"
check measures 360 0 "ok frames=3 cells=0 hovered=0"
check empty 360 1 "ok frames=0 cells=0 hovered=0"

# The check itself is checked: a page that shows something else than its data must not pass.
sed 's/v\.toFixed(3)/(v + 0.002).toFixed(3)/' "$work/pages/full.html" >"$work/wrong.html"
open_page "$work/wrong.html" 1200 1
case "$(cat "$work/report")" in
  "failed: "*) echo "ok a page that shows wrong values is found out" ;;
  *) fail "a page that shows wrong values passed: $(cat "$work/report")" ;;
esac

[ $failures -eq 0 ] || { echo "film_check: $failures failures"; exit 1; }
