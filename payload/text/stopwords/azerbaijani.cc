#include "payload/text/stopwords/lists.h"

namespace quiver::payload::stopwords {

constinit const std::string_view kAzerbaijani =
    "və ki ilə üçün bir bu o da də ya amma ancaq lakin çünki əgər isə həm hər heç nə kim "
    "hansı harada hara haçan necə niyə neçə mən məni mənə məndə məndən mənim sən səni "
    "sənə səndə səndən sənin onu ona onda ondan onun biz bizi bizə bizdə bizdən bizim "
    "siz sizi sizə sizdə sizdən sizin onlar onları onlara onlarda onlardan onların bunu "
    "buna bunda bundan bunun bunlar öz özü özünü bütün bəzi başqa çox az daha ən artıq "
    "indi sonra əvvəl kimi qədər görə haqqında arasında üzərində altında var yox deyil "
    "idi imiş olan olaraq olub olur oldu olar olsun edir etdi edən hələ yalnız belə elə "
    "yenə axı hətta yəni bəli xeyr iki hamı";

}  // namespace quiver::payload::stopwords
