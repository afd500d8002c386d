#include "tiny_lm/text.hpp"

namespace tiny_lm {
namespace {

constexpr const char* vietnamese = R"(Sáng sớm sương còn đọng trên lá chuối.
Mẹ nhóm bếp, khói bay qua mái nhà.
Con mèo nằm ngủ bên bậu cửa.
Bà kể chuyện ngày xưa cho cháu nghe.
Mưa rơi trên mái ngói, tiếng mưa ru em ngủ.
Thuyền về bến khi trăng vừa lên.
Cha vá lưới bên hiên, chờ gió lặng.
Em bé tập viết chữ đầu tiên trên cát.
Ai gieo hạt lành thì vườn sẽ xanh.
Đi chậm mà đều thì đường xa cũng tới.
Hỏi một câu, sáng ra nhiều điều.
Nước nhỏ từng giọt, lâu ngày đầy chum.
Học hôm nay, hiểu ngày mai.
Người biết lắng nghe thì ít khi lạc lối.
Cây không vội, mà mùa nào cũng có hoa.
Lời nói nhẹ, nhưng nhớ thì lâu.
Trời chưa sáng, chợ đã đông người.
Cô bán rau cười hiền, gánh hàng còn ướt sương.
Ông trồng cây bưởi trước ngõ, nay đã sai quả.
Gió từ biển thổi vào làm mát cả làng.
Đàn cò trắng bay qua cánh đồng lúa chín.
Chú trâu thong thả gặm cỏ ven đê.
Chiều xuống, lũ trẻ thả diều trên bãi cỏ.
Tiếng sáo diều vi vu suốt buổi chiều.
Đèn dầu nhỏ mà soi đủ trang sách.
Một bước nhỏ mỗi ngày thành con đường dài.
Sai thì sửa, chưa biết thì học.
Bạn tốt như bóng mát giữa trưa hè.
Nhà có sách thì đêm nào cũng ngắn.
Mùa đông, cả nhà ngồi quanh nồi khoai luộc.
Cháu rót trà mời ông, tay còn run run.
Dòng sông chảy mãi mà không quên nguồn.
Thầy vẽ một vòng tròn rồi hỏi đâu là điểm đầu.
Trên tàu, ai cũng ngắm biển qua ô cửa.
Chị may áo mới cho em đi học.
Hoa sen nở giữa ao, hương bay khắp xóm.
Máy tính nhỏ cũng đếm được từng chữ.
Muốn đoán chữ sau, hãy nhìn những chữ trước.
Chữ nào cũng có bạn hay đi cùng.
Nhìn lâu một chút sẽ thấy điều chưa thấy.
Quả ngọt không chín trong một ngày.
Trăng tròn rồi khuyết, khuyết rồi lại tròn.
Con kiến nhỏ đi xa, đường dài không nản.
Bát cơm dẻo có công của nắng và của mưa.
Nón lá nghiêng che một góc trời.
Đêm hè, đom đóm thắp đèn ngoài ruộng.
Anh thợ mộc bào gỗ, mùi gỗ thơm cả sân.
Chuông chùa ngân, mặt hồ lặng im.
Cơn bão qua rồi, làng lại dựng mái mới.
Tấm lòng rộng thì căn nhà nhỏ cũng đủ chỗ.
Xe đạp cũ vẫn đưa em tới trường.
Bánh chưng xanh đặt trên bàn thờ ngày Tết.
Cành đào nở sớm, xuân đã về ngoài ngõ.
Hạt gạo nhỏ nuôi lớn bao người.
Ngồi yên mà nghe, rừng cũng biết nói.
Việc khó chia ra thì thành việc dễ.
Gieo chữ vào trí nhớ như gieo mạ xuống ruộng.
Mặt trời lặn, bếp nhà ai lại đỏ lửa.
Tay lấm bùn mà lòng vẫn sạch.
Đường về nhà bao giờ cũng ngắn hơn.
)";

constexpr const char* english = R"(The kettle sings before the house is awake.
A grey cat sleeps on the warm side of the wall.
Rain on the roof tells one long story.
The boat comes home when the moon is up.
Grandmother counts the stitches and loses none.
A slow walk on a straight road still arrives.
Ask once and learn twice.
Small drops fill the jar by the door.
The tree does not hurry, and yet it has leaves.
A kind word is light to carry.
The market is full before the sun is.
Father mends the net and waits for the wind.
White birds cross the field of ripe corn.
The child draws her first letter in the sand.
One lamp is enough for one page.
A good friend is shade at noon.
What is wrong today may be mended tomorrow.
The river goes on and remembers the hill.
Bread is best when two have baked it.
The teacher drew a ring and asked where it began.
From the train we watched the sea go by.
My sister sewed a coat with seven buttons.
Even a small machine can count letters.
To guess the next letter, look at those before it.
Some letters like to walk together.
Look a little longer and there is more to see.
Sweet fruit takes more than a day.
The moon grows thin and then grows round again.
An ant went far and did not complain.
A bowl of rice holds some of the rain.
In summer the fireflies light the ditch.
The carpenter's shop smells of new boards.
The bell rang once and the lake was still.
After the storm the village built again.
A wide heart makes a small house large.
The old bicycle knows the way to school.
Snow fell all night and nobody heard it.
The first plum flowers came before the letters did.
One grain of wheat is the start of a loaf.
Sit still and the forest will speak.
Cut a hard task in two and both halves are easy.
The sun goes down and the stoves are lit.
Muddy hands may do clean work.
The way home is always shorter.
The clock is slow but the tea is ready.
A book left open waits like a dog.
He who plants a hedge thinks of the wind.
The ladder is only as good as its lowest step.
Geese go south with a noise of doors.
The well is deep and the rope is long.
She wrote the number down and then believed it.
Every knot was once a straight rope.
The baker's light is the first in the street.
Stones in the stream teach the water to sing.
A map is not the walk, but it helps.
The shortest night has room for a dream.
Keep the seed dry and the spring will keep its word.
The gate squeaks to say who is there.
Frost paints the window and signs no name.
We learned the song by singing it badly.
)";

}  // namespace

std::u32string bundled_text(Language language) {
  return decode_utf8(language == Language::vietnamese ? vietnamese : english);
}

}  // namespace tiny_lm
