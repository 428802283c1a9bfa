#include "payload/text/stopwords/lists.h"

namespace quiver::payload::stopwords {

constinit const std::string_view kRomanian =
    "a abia acea aceasta această aceea aceeași acei aceia acel acela același acele "
    "acelea acest acesta aceste acestea acești aceștia acolo acum adică ai aia aici al "
    "ale alea alt alta altă altceva alte altele alți altul am an apoi ar are as aș "
    "asemenea asta astfel așa asupra atât atare ați atunci au avea avem aveți azi ca că "
    "căci când care cărei căror cărui cât câte câți către ce cea ceea cei cel cele celor "
    "ceva chiar ci cine cineva cînd cu cum cumva da dacă dar dată de deci deja deoarece "
    "departe deși din dintr dintre doar după ea ei el ele era erau este eu ești face "
    "fără fi fie fiecare fiind foarte fost i îi îl îmi împotriva în înainte încât încă "
    "îți între întru într își la le li lor lui mă mai mea mei mele mereu meu mi mie mine "
    "mult multă multe mulți ne nici nimeni nimic niște noastră noastre noi noștri nostru "
    "nouă nu o oricare orice oricine ori peste pe pentru până prea prin printr sa să săi "
    "sale sau său se sînt spre sub sunt suntem sunteți ta tăi tale tău te ți ție tine "
    "toată toate tot toți totuși tu un una unde unei unele uneori unor unul unui va vă "
    "voastră voastre voi voștri vostru vouă vreun";

}  // namespace quiver::payload::stopwords
