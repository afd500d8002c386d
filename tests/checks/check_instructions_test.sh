#!/usr/bin/env bash
# scripts/check-instructions counts, compares, records, and sees a step that has grown. With a valgrind and a program that
# say what they are told.
set -uo pipefail
script=$(cd "$(dirname "$0")/../.." && pwd)/scripts/check-instructions
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0

# expect CODE TEXT COMMAND...: the exit code, and a text among what it prints.
expect() {
  local code=$1 text=$2 printed status
  shift 2
  printed=$("$@" 2>&1)
  status=$?
  [ "$status" -eq "$code" ] || { echo "$*: exit code $status, expected $code; printed \"$printed\""; failed=1; }
  [[ $printed == *"$text"* ]] || { echo "$*: printed \"$printed\", which lacks \"$text\""; failed=1; }
}

printf '#!/bin/sh\necho "cc-1 BLAS-2 cpu"\n' >"$folder/program"
mkdir "$folder/bin"
# A million before the first step, then $PER_STEP each.
cat >"$folder/bin/valgrind" <<'VALGRIND'
#!/bin/sh
for steps; do :; done
echo "==1== Collected : $((1000000 + steps * ${PER_STEP:-1000}))"
VALGRIND
chmod +x "$folder/program" "$folder/bin/valgrind"
export PATH="$folder/bin:$PATH"
records=$folder/records

expect 77 "no counts are recorded for cc-1 BLAS-2 cpu" "$script" "$folder/program" "$records"
echo "cc-1 BLAS-1 cpu lesson_eager 7" >"$records"
expect 77 "no counts are recorded for cc-1 BLAS-2 cpu" "$script" "$folder/program" "$records"
expect 0 "lesson_replayed: 1000 instructions a step" "$script" --record "$folder/program" "$records"
expect 0 "batch_64_eager: 1000 instructions a step, recorded 1000, +0.0 %: ok" "$script" "$folder/program" "$records"
expect 0 "cc-1 BLAS-1 cpu lesson_eager 7" cat "$records"
expect 0 "+3.0 %: ok" env PER_STEP=1030 "$script" "$folder/program" "$records"
expect 1 "+3.1 %: more than 3 % above" env PER_STEP=1031 "$script" "$folder/program" "$records"
expect 0 "better" env PER_STEP=900 "$script" "$folder/program" "$records"
expect 0 "" env PER_STEP=900 "$script" --record "$folder/program" "$records"
expect 1 "recorded 900" "$script" "$folder/program" "$records"
expect 0 "4" grep -c . "$records"

printf '#!/bin/sh\nexit 1\n' >"$folder/bin/valgrind"
expect 2 "failed under valgrind" "$script" "$folder/program" "$records"
expect 2 "there is no program" "$script" "$folder/none"
expect 2 "no such option: --more" "$script" --more
rm "$folder/bin/valgrind"
for tool in bash env dirname sed; do ln -s "$(command -v $tool)" "$folder/bin/$tool"; done
expect 77 "there is no valgrind" env PATH="$folder/bin" bash "$script" "$folder/program" "$records"
exit $failed
