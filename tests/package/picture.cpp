// What a program takes from the study library: a picture, for which it is linked to libpng.
#include <regard/study/heatmap.hpp>

int main() { return regard::study::attention_png({}).substr(1, 3) == "PNG" ? 0 : 1; }
