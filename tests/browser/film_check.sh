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

browser=
for name in chromium chromium-browser google-chrome; do
  if command -v "$name" >/dev/null; then browser=$name; break; fi
done
[ -n "$browser" ] || { echo "skipped: no Chromium to open the film in"; exit 77; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
fail() { echo "FAILED $1"; failures=$((failures + 1)); }

# open_film PAGE WIDTH SCHEME (0 dark, 1 light): the report into WORK/report, the console into WORK/console
open_film() {
  { cat "$1"; echo "<script>"; cat "$here/film_check.js"; echo "</script>"; } >"$work/page.html"
  # In a frame, because headless Chromium's window is never narrower than 500 pixels, whatever it is asked for.
  cat >"$work/frame.html" <<FRAME
<!DOCTYPE html>
<meta name="color-scheme" content="light dark">
<script>addEventListener('message', event => { document.documentElement.dataset.filmCheck = event.data; });</script>
<iframe src="page.html" style="border: 0; width: $2px; height: 900px"></iframe>
FRAME
  local root_needs=()
  [ "$(id -u)" -ne 0 ] || root_needs=(--no-sandbox)
  timeout 90 "$browser" --headless=new "${root_needs[@]}" --disable-gpu --disable-dev-shm-usage --no-first-run \
    --disable-background-networking --disable-component-update --disable-sync --user-data-dir="$work/profile" \
    --host-resolver-rules='MAP * ~NOTFOUND' --window-size=1400,1000 --blink-settings=preferredColorScheme="$3" \
    --enable-logging=stderr --virtual-time-budget=5000 --dump-dom "file://$work/frame.html" >"$work/dom" 2>"$work/log" || true
  grep ':CONSOLE' "$work/log" >"$work/console" || true
  sed -n 's/^<html[^>]*data-film-check="\([^"]*\)".*/\1/p' "$work/dom" | head -n 1 >"$work/report"
}

# check FILM WIDTH SCHEME WANTED: the report begins with WANTED
check() {
  local look="$1, $2 pixels wide, $([ "$3" = 0 ] && echo dark || echo light)" report theme ground
  open_film "$work/films/$1.html" "$2" "$3"
  report=$(cat "$work/report")
  if [ "$3" = 0 ]; then theme=dark ground='rgb(20,23,27)'; else theme=light ground='rgb(255,255,255)'; fi
  [ ! -s "$work/console" ] || fail "$look: console: $(head -n 3 "$work/console")"
  case "$report" in
    "$4 theme=$theme ground=$ground width="*" loaded=0") ;;
    "") fail "$look: no report: $(tail -n 3 "$work/log")"; return ;;
    *) fail "$look: expected $4 theme=$theme ground=$ground ... loaded=0, got: $report"; return ;;
  esac
  local width window
  width=${report##* width=}; width=${width%% *}
  window=${report##* window=}; window=${window%% *}
  [ "$width" -le "$window" ] || fail "$look: is $width pixels wide in a window of $window"
  [ "$window" -eq "$2" ] || fail "$look: the window is $window pixels wide"
  echo "ok $look: $report"
}

mkdir "$work/films"
"$sample" "$work/films"
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
sed 's/v\.toFixed(3)/(v + 0.002).toFixed(3)/' "$work/films/full.html" >"$work/wrong.html"
open_film "$work/wrong.html" 1200 1
case "$(cat "$work/report")" in
  "failed: "*) echo "ok a page that shows wrong values is found out" ;;
  *) fail "a page that shows wrong values passed: $(cat "$work/report")" ;;
esac

[ $failures -eq 0 ] || { echo "film_check: $failures failures"; exit 1; }
