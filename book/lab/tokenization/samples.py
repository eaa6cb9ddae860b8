"""Small texts that say the same in many languages, and real program code.

References:
    United Nations (1948), Universal Declaration of Human Rights, article 1; translations of the
    Office of the High Commissioner for Human Rights, as at unicode.org/udhr.
"""

import importlib.util
from pathlib import Path

from mathlm.errors import DataNotFoundError, InputError

# ruff: noqa: RUF001  (letters of other scripts are meant)

ARTICLE_1 = {
    "English": (
        "All human beings are born free and equal in dignity and rights. They are endowed with "
        "reason and conscience and should act towards one another in a spirit of brotherhood."
    ),
    "Spanish": (
        "Todos los seres humanos nacen libres e iguales en dignidad y derechos y, dotados como "
        "están de razón y conciencia, deben comportarse fraternalmente los unos con los otros."
    ),
    "French": (
        "Tous les êtres humains naissent libres et égaux en dignité et en droits. Ils sont "
        "doués de raison et de conscience et doivent agir les uns envers les autres dans un "
        "esprit de fraternité."
    ),
    "German": (
        "Alle Menschen sind frei und gleich an Würde und Rechten geboren. Sie sind mit "
        "Vernunft und Gewissen begabt und sollen einander im Geist der Brüderlichkeit begegnen."
    ),
    "Finnish": (
        "Kaikki ihmiset syntyvät vapaina ja tasavertaisina arvoltaan ja oikeuksiltaan. Heille "
        "on annettu järki ja omatunto, ja heidän on toimittava toisiaan kohtaan veljeyden "
        "hengessä."
    ),
    "Turkish": (
        "Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar. Akıl ve vicdana "
        "sahiptirler ve birbirlerine karşı kardeşlik zihniyeti ile hareket etmelidirler."
    ),
    "Swahili": (
        "Watu wote wamezaliwa huru, hadhi na haki zao ni sawa. Wote wamejaliwa akili na "
        "dhamiri, hivyo yapasa watendeane kindugu."
    ),
    "Russian": (
        "Все люди рождаются свободными и равными в своем достоинстве и правах. Они наделены "
        "разумом и совестью и должны поступать в отношении друг друга в духе братства."
    ),
    "Greek": (
        "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα. "
        "Είναι προικισμένοι με λογική και συνείδηση, και οφείλουν να συμπεριφέρονται μεταξύ "
        "τους με πνεύμα αδελφοσύνης."
    ),
    "Arabic": (
        "يولد جميع الناس أحرارًا متساوين في الكرامة والحقوق. "
        "وقد وهبوا عقلاً وضميرًا وعليهم أن يعامل بعضهم بعضًا بروح الإخاء."
    ),
    "Hindi": (
        "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है। "
        "उन्हें बुद्धि और अन्तरात्मा की देन प्राप्त है और परस्पर उन्हें भाईचारे के भाव से बर्ताव करना चाहिए।"
    ),
    "Chinese": (
        "人人生而自由,在尊严和权利上一律平等。他们赋有理性和良心,并应以兄弟关系的精神相对待。"
    ),
    "Japanese": (
        "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。"
        "人間は、理性と良心とを授けられており、互いに同胞の精神をもって行動しなければならない。"
    ),
    "Korean": (
        "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다. 인간은 "
        "천부적으로 이성과 양심을 부여받았으며 서로 형제애의 정신으로 행동하여야 한다."
    ),
    "Thai": (
        "มนุษย์ทั้งปวงเกิดมามีอิสระและเสมอภาคกันในศักดิ์ศรีและสิทธิ "
        "ต่างในตนมีเหตุผลและมโนธรรม และควรปฏิบัติต่อกันด้วยจิตวิญญาณแห่งภราดรภาพ"
    ),
}


def standard_library(module: str) -> str:
    """Source of a module of Python's standard library; other versions of Python, other text.

    Args:
        module: Name of a module written in Python, such as "heapq".

    Raises:
        InputError: If there is no such module.
        DataNotFoundError: If it is not there as source.
    """
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, AttributeError):  # of a module that is no package; no str
        spec = None
    if spec is None:
        raise InputError(f"Python has no module called {module!r}")
    if not spec.origin or not spec.origin.endswith(".py"):
        raise DataNotFoundError(
            f"module {module!r} is not written in Python; take 'heapq' or 'json.decoder'"
        )
    return Path(spec.origin).read_text(encoding="utf-8")


__all__ = ["ARTICLE_1", "standard_library"]
