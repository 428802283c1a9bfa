#include "payload/text/stopwords/lists.h"

namespace quiver::payload::stopwords {

constinit const std::string_view kIndonesian =
    "ada adalah adanya adapun agar akan akankah akhirnya aku akulah amat anda antar "
    "antara apa apabila apakah apalagi atas atau ataupun bagai bagaimana bagi bahkan "
    "bahwa banyak baru beberapa begini begitu belum benar berbagai beserta betul biasa "
    "biasanya bila bisa boleh bukan bukankah bukanlah cukup cuma dahulu dalam dan dapat "
    "dari daripada dekat demi demikian dengan depan di dia dialah diantara diri dirinya "
    "dua dulu hal hampir hanya harus hendak hingga ia ialah ingin ini inilah itu itulah "
    "jadi jangan jika jikalau juga justru kala kalau kalian kami kamu kan kapan karena "
    "kau ke keduanya kemudian kenapa kepada ketika kini kita lagi lah lain lainnya lalu "
    "lama lebih maka makin malah mana manakala masih masing mau maupun melainkan melalui "
    "memang mengapa mereka merupakan meski meskipun mungkin namun nanti nya oleh orang "
    "pada padahal paling para pasti per pernah pula pun saat saja saling sama sambil "
    "sampai sana sangat satu saya se seakan seandainya sebab sebabnya sebagai "
    "sebagaimana sebagian sebaliknya sebelum sebelumnya sebuah secara sedang sedangkan "
    "sedikit segala sehingga sejak sejumlah sekali sekalipun sekarang sekitar selain "
    "selaku selalu selama seluruh semakin sementara semua semuanya seorang sepanjang "
    "seperti sering seringkali serta sesuatu setelah setiap siapa siapakah sini situ "
    "suatu sudah supaya tadi tanpa tapi telah tentang tentu tentunya terhadap terlalu "
    "termasuk ternyata tersebut tetap tetapi tiap tidak tidaklah untuk walau walaupun "
    "wah yaitu yakni yang";

}  // namespace quiver::payload::stopwords
