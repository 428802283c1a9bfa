#include "payload/text/stopwords/lists.h"

namespace quiver::payload::stopwords {

constinit const std::string_view kTurkish =
    "acaba ama aslında az bana bazı belki ben benden beni benim beri bile bir biri "
    "birkaç birçok birşey biz bizden bize bizi bizim böyle böylece bu buna bunda bundan "
    "bunlar bunları bunların bunu bunun burada çok çünkü da daha dahi de defa değil "
    "diğer diye dolayı dolayısıyla eğer en fakat gene gibi göre hangi hani hatta hem "
    "henüz hep hepsi her herhangi herkes hiç hiçbir için ile ilgili ise işte kadar "
    "karşın kendi kendine kendini kez ki kim kime kimden kimi kimse madem mı mi mu mü "
    "nasıl ne neden nedenle nerde nerede nereye niye niçin o olan olarak oldu olduğu "
    "olduğunu olmak olması olsa olsun olup olur ona ondan onlar onlardan onları onların "
    "onu onun oysa öyle pek rağmen sadece sanki sen senden seni senin siz sizden size "
    "sizi sizin sonra şey şöyle şu şuna şunda şundan şunları şunu tabii tarafından tüm "
    "üzere var ve veya veyahut ya yani yapılan yerine yine yoksa zaten";

}  // namespace quiver::payload::stopwords
