#include "payload/text/stopwords/lists.h"

namespace quiver::payload::stopwords {

constinit const std::string_view kChinese =
    "的 了 和 是 在 我 有 他 这 那 也 就 都 而 及 与 或 但 不 没 没有 个 们 我们 你 你们 他们 她 "
    "她们 它 它们 自己 之 其 其中 此 该 "
    "这个 那个 这些 那些 这里 那里 这样 那样 什么 谁 哪 哪个 哪里 怎么 怎样 为什么 多少 几 因为 "
    "所以 如果 虽然 但是 可是 然而 不过 而且 并且 并 "
    "以及 还是 或者 只是 只有 只要 即使 除了 关于 对于 由于 根据 按照 通过 为 为了 以 于 从 到 向 "
    "往 由 被 把 将 让 给 对 比 跟 同 用 得 "
    "地 着 过 吗 呢 吧 啊 呀 很 太 更 最 非常 又 再 还 才 只 会 能 可以 可能 应该 要 想 已 已经 曾 "
    "曾经 正在 所 些 每 各 某 一 一个 "
    "一些 一样 等 等等 之后 之前 以后 以前 时 时候 上 下 中 里 内 外 当 则 却 若 因 因此 于是 然后 "
    "那么 这么 如何 如此 是否";

}  // namespace quiver::payload::stopwords
