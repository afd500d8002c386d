# Sourced by the checks of pages: opens a page with a script at its end that reports to the page that frames it. `script`
# names it; the pages lie in $work/pages.
browser=
for name in chromium chromium-browser google-chrome; do
  if command -v "$name" >/dev/null; then browser=$name; break; fi
done
[ -n "$browser" ] || { echo "skipped: no Chromium to open pages in"; exit 77; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
fail() { echo "FAILED $1"; failures=$((failures + 1)); }

# open_page PAGE WIDTH SCHEME (0 dark, 1 light): with $script at its end; the report into WORK/report, the console into WORK/console
open_page() {
  { cat "$1"; echo "<script>"; cat "$script"; echo "</script>"; } >"$work/page.html"
  # In a frame, because headless Chromium's window is never narrower than 500 pixels, whatever it is asked for.
  cat >"$work/frame.html" <<FRAME
<!DOCTYPE html>
<meta name="color-scheme" content="light dark">
<script>addEventListener('message', event => { document.documentElement.dataset.check = event.data; });</script>
<iframe src="page.html" style="border: 0; width: $2px; height: 900px"></iframe>
FRAME
  local root_needs=()
  [ "$(id -u)" -ne 0 ] || root_needs=(--no-sandbox)
  timeout 90 "$browser" --headless=new "${root_needs[@]}" --disable-gpu --disable-dev-shm-usage --no-first-run \
    --disable-background-networking --disable-component-update --disable-sync --user-data-dir="$work/profile" \
    --host-resolver-rules='MAP * ~NOTFOUND' --window-size=1400,1000 --blink-settings=preferredColorScheme="$3" \
    --enable-logging=stderr --virtual-time-budget=5000 --dump-dom "file://$work/frame.html" >"$work/dom" 2>"$work/log" || true
  grep ':CONSOLE' "$work/log" >"$work/console" || true
  sed -n 's/^<html[^>]*data-check="\([^"]*\)".*/\1/p' "$work/dom" | head -n 1 >"$work/report"
}

# check PAGE WIDTH SCHEME WANTED: the report begins with WANTED
check() {
  local look="$1, $2 pixels wide, $([ "$3" = 0 ] && echo dark || echo light)" report theme ground
  open_page "$work/pages/$1.html" "$2" "$3"
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
