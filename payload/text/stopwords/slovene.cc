#include "payload/text/stopwords/lists.h"

namespace quiver::payload::stopwords {

constinit const std::string_view kSlovene =
    "a ali ampak bi bil bila bile bili bilo biti bo bodo bolj bom bomo boste boš brez da "
    "daleč dokler do dovolj druga drugi drugo eden en ena eno ene enkrat ga gre h i idr "
    "in iz ima imajo imam imamo imate imaš ja jaz je jih jim jo k kadar kaj kajti kako "
    "kakor kam kamor kar karkoli kateri katera katero kdaj kdo kdor ker ki kje kjer ko "
    "koga komu kot le lahko ma manj mara med medtem mene meni mi midva mimo mnogo moj "
    "moja moje mora morajo moram morda mu na nad naj najbolj nam nas nasproti nato naš "
    "naša naše ne nek neka nekaj nekateri neki nekdo neko nekoč ni nič nihče nikoli "
    "nisem niso nismo niste nisi nje njega njegov njegova njegovo njej njen njena njeno "
    "nji njih njihov njim njo njun no o ob oba obe od okoli on ona one oni ono oz pa po "
    "pod poleg ponavadi potem povsod pred predvsem preko pri pribl proti prav raje res s "
    "sam sama samo se sebe sebi sem si sicer skoraj skozi smo so ste svoj svoja svoje ta "
    "tak taka tako takoj takrat tam te tebe tebi tega tem temu ti tisti tista tisto tj "
    "to toda torej tu tudi tvoj tvoja tvoje u v vam vas vaš vaša vaše vedno več vendar "
    "ves vi vsa vsaj vsak vsaka vsako vse vseh vsem vsi z za zadaj zakaj zaradi zato "
    "zelo zlasti zmeraj že čez če čeprav čigav š";

}  // namespace quiver::payload::stopwords
