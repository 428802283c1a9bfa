#include "payload/text/stopwords/lists.h"

namespace quiver::payload::stopwords {

constinit const std::string_view kHungarian =
    "a az egy és hogy nem is de ha meg már csak mint el ki le fel be vagy van volt lesz "
    "lenne volna voltak vannak vagyok vagyunk legyen lett mert még ez ezt ezek ezen "
    "ebben ehhez ezzel erre ennek azt azok azon abban ahhoz azzal arra annak aki akik "
    "akkor alatt által általában amely amelyek amelyben amelyet amelynek ami amit amíg "
    "annál át azért azonban azután bár ből ban ben belül benne cikk egyéb egyes egyetlen "
    "egyik egyre ekkor elég ellen elő először előtt első emilyen én ő ők mi ti te őket "
    "neki nekem neked nekünk velem vele ezért fog hanem hiszen hogyan igen így ilyen "
    "illetve ilyenkor ismét itt ott jó jól jobban kell kellett keresztül kívül között "
    "közül legalább maga magát majd más másik mégis mellett mely melyek mindig minden "
    "mindenki mindent miért milyen mikor mintha mivel most nagy nagyobb nagyon ne néha "
    "néhány nélkül nincs olyan össze pedig persze rá s saját sem semmi sok sokat sokkal "
    "számára szemben szerint szét szinte tehát teljes tovább továbbá több úgy ugyanis új "
    "újra után utána utolsó valaki valami valamint való vissza viszont";

}  // namespace quiver::payload::stopwords
