#include "payload/text/stopwords/lists.h"

namespace quiver::payload::stopwords {

constinit const std::string_view kCatalan =
    "a abans ací ah així això al aleshores algun alguna algunes alguns alhora allà allí "
    "allò als altra altre altres amb ambdós ambdues anar ans apa aquell aquella aquelles "
    "aquells aquest aquesta aquestes aquests aquí baix bastant bé cada cadascú cadascuna "
    "cadascun com consegueixo contra d da dalt de del dels des després dins dintre donat "
    "doncs durant e eh el elles ells els em en encara ens entre érem eren ereu eres és "
    "esta està estat estava estaven et etc ets fa faig fan fas fem fer feu fi fins fora "
    "gairebé ha han has haver havia he hem heu hi ho i igual iguals inclòs ja jo l la "
    "les li llarg llavors lo m ma mal malgrat mateix mateixa mateixes mateixos me mentre "
    "més meu meus meva meves mode molt molta moltes molts mon mons n na ne ni no "
    "nogensmenys només nosaltres nostra nostre nostres o oh oi on pas pel pels per però "
    "perquè poc poca pocs poques potser propi qual quals quan quant que què quelcom qui "
    "quin quina quines quins s sa semblant ser ses seu seus seva seves si sí sobre "
    "sobretot sóc solament sols som son són sons sota sou t ta tal també tampoc tan tant "
    "tanta tantes te tene tenim tenir teniu teu teus teva teves ton tons tot tota totes "
    "tots un una unes uns us va vaig vam van vas veu vosaltres vostra vostre vostres";

}  // namespace quiver::payload::stopwords
