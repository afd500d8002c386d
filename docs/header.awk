# What Doxygen reads in place of a header: its first comment becomes the file's description, all of it belongs to the group
# that names it in reference.dox, and a comment above several functions, with no blank line between, describes each of
# them. Lines stay where they are.
#
#   awk -f docs/header.awk docs/reference.dox HEADER

FILENAME == ARGV[1] && /\\defgroup/ { name = $3; next }
FILENAME == ARGV[1] && /^Headers:/ { listing = 1; sub(/^Headers:/, "") }
FILENAME == ARGV[1] && !/^[a-z_ .\/]+$/ { listing = 0 }
FILENAME == ARGV[1] {
  for (i = 1; listing && i <= NF; ++i) group[$i] = name
  next
}

function warn(what) { print FILENAME ":1: warning: " what > "/dev/stderr" }

function find_group(   header, folder) {
  header = FILENAME
  sub(/.*include\/regard\//, "", header)
  folder = header
  sub(/[^\/]*$/, "", folder)
  if (header in group) return group[header]
  if (folder in group) return group[folder]
  warn("no group in docs/reference.dox names " header)
  return "unknown"
}

# A comment at the margin and what follows it, up to a blank line or the next comment. Where that is several functions the
# comment is said again before each.
function write_unit(   i, text, start, before) {
  for (i = 1; i <= count && line[i] ~ /^\/\/\//; ++i) text = text substr(line[i], 4)
  start = text ~ /```/ || line[i] ~ /^(class|struct|enum|namespace|#|using)/ ? count : i
  for (i = 1; i <= count; ++i) {
    if (i > start && text != "" && line[i] ~ /^[A-Za-z]/ && before ~ /[;}]( *\/\/.*)?$|^\/\// && line[i] !~ /\/\/\/</)
      printf "/**%s */ ", text
    print before = line[i]
  }
  count = 0
}

# The group begins on a blank line within the innermost namespace, and ends before that does.
function has_namespace(   row, found) {
  while ((getline row < FILENAME) > 0) found += row ~ /^namespace /
  close(FILENAME)
  return found
}
function leave_group() {
  if (open) printf "/** @} */ "
  open = 0
}

FNR == 1 {
  name = find_group()
  if (!/^\/\/ /) warn("a header begins with a comment that says what it is for")
  enter = !has_namespace()
}
!begun && /^\/\/( |$)/ { sub(/^\/\//, "///") }
{ gsub(/\[\[nodiscard\]\] /, "") }
/^ *\/\/\// { gsub(/et al\. /, "et al.\\&nbsp;") }  # no end of a sentence
/^#pragma once/ { begun = 1; $0 = "/// \\file" }
/^$/ {
  write_unit()
  print begun && enter && !open ? "/** \\addtogroup " name " */ /** @{ */" : ""
  if (begun && enter) open = 1
  next
}
/^(namespace|}  \/\/ namespace) / && !/namespace detail/ {
  write_unit()
  leave_group()
  enter = !/^}.*namespace regard/
}
/^\/\/\// && count && line[count] !~ /^\/\/\// { write_unit() }
{ line[++count] = $0 }
END { write_unit(); leave_group() }
