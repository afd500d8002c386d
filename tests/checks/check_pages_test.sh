#!/usr/bin/env bash
# scripts/check-pages must open a page that is right, and say what is wrong with one that is not. Without a Chromium on
# this machine there is nothing to test.
set -euo pipefail
check=$(cd "$(dirname "$0")/../.." && pwd)/scripts/check-pages
if ! command -v chromium >/dev/null && ! command -v chromium-browser >/dev/null && ! command -v google-chrome >/dev/null; then
  echo "skipped: no Chromium"
  exit 77
fi
work=$(mktemp -d)
page=$work/page.html
trap 'rm -rf "$work"' EXIT
failures=0

try() { # try BODY MESSAGE: the check says MESSAGE about a page of that body; it passes when MESSAGE is empty
  printf '<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">%s' "$1" >"$page"
  local output status=0
  output=$("$check" "$page" 2>&1) || status=$?
  if [ -z "$2" ]; then [ $status -eq 0 ]; else [ $status -eq 1 ] && grep -qF "$2" <<<"$output"; fi ||
    { echo "FAILED: $1: wanted '$2', status $status, got: $output"; failures=$((failures + 1)); }
}

try '<p>Words</p><a href="https://example.org/">a link</a><script>document.title = 1</script>' ''
try '<p>Words</p><script>no_such_function()</script>' 'no_such_function is not defined'
try '<p>Words</p><script>console.log("left over")</script>' 'writes to the console'
try '<p>Words</p><img src="https://example.org/x.png">' 'loads from elsewhere'
try '<p>Words</p><style>body { background: url(//example.org/x.png) }</style>' 'loads from elsewhere'
try '<div style="width:900px">Words</div>' '360 pixels wide, dark: is 9'
try '<div style="width:450px">Words</div>' 'is 4'
try '<script></script>' 'shows no text'
[ $failures -eq 0 ] || exit 1
echo "every fault was named"
