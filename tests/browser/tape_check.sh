#!/usr/bin/env bash
# Opens tape.html in headless Chromium, walks through it, and compares what it shows with its data, as film_check.sh does.
#
#   tape_check.sh TAPE_SAMPLE    the program that writes the pages to open
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
sample=$1
script=$here/tape_check.js
. "$here/open.sh"

mkdir "$work/pages"
"$sample" "$work/pages"
for width in 1200 360; do
  for scheme in 0 1; do
    check strange $width $scheme "ok steps=22 cells=2033"
  done
done
check large 360 1 "ok steps=5 cells=1344"
check empty 360 0 "ok steps=0 cells=0"

# The check itself is checked: a page that shows something else than its data must not pass.
sed 's/v\.toFixed(Math/(v + 0.002).toFixed(Math/' "$work/pages/strange.html" >"$work/wrong.html"
open_page "$work/wrong.html" 1200 1
case "$(cat "$work/report")" in
  "failed: "*) echo "ok a page that shows wrong values is found out" ;;
  *) fail "a page that shows wrong values passed: $(cat "$work/report")" ;;
esac

[ $failures -eq 0 ] || { echo "tape_check: $failures failures"; exit 1; }
