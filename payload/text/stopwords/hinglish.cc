#include "payload/text/stopwords/lists.h"

namespace quiver::payload::stopwords {

constinit const std::string_view kHinglish =
    "aadi aaj aap aapka aapke aapki aapko aapne aapse ab abhi abhee agar apna apne apni "
    "aur accha acha achha bahut bhi bhee bas baat bilkul bina chahiye chahie de dena "
    "diya diye do dono ek ese esa ga ge gi gaya gaye gayi haan hai hain ham hamara "
    "hamare hamari hame hamen hi ho hoga hoge hogi hona hone hota hote hoti hu hua hue "
    "hui hum humko humne hun hoon is isi iska iske iski isko isliye ismein isne isse it "
    "itna itne itni jab jabki jahan jaise jaisa jaisi jaha je jinhe jis jiska jiske "
    "jiski jisko jise jisne jo ka kab kabhi kaha kahan kahin kai kaise kaisa kar karna "
    "karne karta karte karti ke keval ki kis kiska kiske kiski kisko kise kisi kisne "
    "kitna kitne kitni kiya kiye ko koi kuch kuchh kya kyon kyonki kyun kyunki lekin "
    "liye log magar mai main me mein mera mere meri mujhe mujhko na nahi nahin ne ni pe "
    "par phir fir pehle pura raha rahe rahi rakha sab sabhi sakta sakte sakti se sirf so "
    "tab tak tera tere teri tha the thi thik to toh tu tum tumhara tumhare tumhari tumhe "
    "tumko us usi uska uske uski usko usne usse un unhe unka unke unki unko unhone unse "
    "wahan wahi wala wale wali vo wo woh ya yadi yah yaha yahan ye yeh yahi zyada a an "
    "and are as at be by for from has have he i in its not of on or she that they this "
    "was we were will with you";

}  // namespace quiver::payload::stopwords
