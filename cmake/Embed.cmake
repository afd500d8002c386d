# Turns a text file into a C++ source that defines it as a std::string_view:
#   cmake -DINPUT=file -DOUTPUT=file.cpp -DNAMESPACE=a::b -DNAME=symbol -P Embed.cmake
file(READ ${INPUT} text)
string(FIND "${text}" ")embedded\"" end)
if(NOT end EQUAL -1)
  message(FATAL_ERROR "${INPUT} contains )embedded\", which would end the literal")
endif()
# Compilers limit the length of one literal; adjacent ones are joined. A piece may end inside a character.
set(pieces "")
string(LENGTH "${text}" length)
set(begin 0)
while(begin LESS length)
  string(SUBSTRING "${text}" ${begin} 8000 piece)
  string(APPEND pieces "R\"embedded(${piece})embedded\"\n")
  math(EXPR begin "${begin} + 8000")
endwhile()
file(WRITE ${OUTPUT} "#include <string_view>\n
namespace ${NAMESPACE} {
extern const std::string_view ${NAME};
const std::string_view ${NAME} =
${pieces};
}  // namespace ${NAMESPACE}
")
