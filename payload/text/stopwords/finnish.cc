#include "payload/text/stopwords/lists.h"

namespace quiver::payload::stopwords {

constinit const std::string_view kFinnish =
    "olla olen olet on olemme olette ovat ole oli olisi olisit olisin olisimme olisitte "
    "olisivat olit olin olimme olitte olivat ollut olleet en et ei emme ette eivät minä "
    "minun minut minua minussa minusta minuun minulla minulta minulle sinä sinun sinut "
    "sinua sinussa sinusta sinuun sinulla sinulta sinulle hän hänen hänet häntä hänessä "
    "hänestä häneen hänellä häneltä hänelle me meidän meidät meitä meissä meistä meihin "
    "meillä meiltä meille te teidän teidät teitä teissä teistä teihin teillä teiltä "
    "teille he heidän heidät heitä heissä heistä heihin heillä heiltä heille tämä tämän "
    "tätä tässä tästä tähän tällä tältä tälle tänä täksi tuo tuon tuota tuossa tuosta "
    "tuohon tuolla tuolta tuolle tuona tuoksi se sen sitä siinä siitä siihen sillä siltä "
    "sille siksi nämä näiden näitä näissä näistä näihin näillä näiltä näille näinä "
    "näiksi nuo noiden noita noissa noista noihin noilla noilta noille noina noiksi ne "
    "niiden niitä niissä niistä niihin niillä niiltä niille niinä niiksi kuka kenen "
    "kenet ketä kenessä kenestä keneen kenellä keneltä kenelle mikä minkä mitä missä "
    "mistä mihin millä miltä mille miksi mitkä joka jonka jota jossa josta johon jolla "
    "jolta jolle jona joksi jotka joiden joita joissa joista joihin joilla joilta joille "
    "että ja jos koska kuin mutta niin sekä tai vaan vai vaikka kanssa mukaan noin "
    "poikki yli kun nyt itse";

}  // namespace quiver::payload::stopwords
