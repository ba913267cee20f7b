"""The meaning of LaTeX commands and environments for running text and citations."""

from __future__ import annotations

import re

_CITES = re.compile(r"[A-Za-z]*[Cc]ites?[A-Za-z]*|bibentry|[A-Za-z]*(?:text|block|display)cquotes?")
"""Commands that cite; those of csquotes quote a text and cite its source."""
_NO_CITATION = frozenset(
    (
        "nocite bstctlcite citestyle setcitestyle citetext defcitealias bibcite DeclareCiteCommand citereset citesetup "
        "AtEveryCite AtEveryCitekey citetrackertrue citetrackerfalse citedash citepunct citemid citeleft citeright "
        "citeform citealias citesep citebullet"
    ).split()
)
_GAP = re.compile(
    r"cit(?:e|ation)s?(?:is)?(?:needed|required|missing|me|here|todo|tbd)"
    r"|(?:needs?|missing|todo|add|fix|insert|want|tbd)cit(?:e|ation)s?(?:needed|here)?"
    r"|refs?needed|references?needed|needs?refs?|missingrefs?|todorefs?",
    re.IGNORECASE,
)
_PRINTED = frozenset(("Comment", "COMMENT"))
"""Comments of an algorithm, which are printed."""
_NOTE = re.compile(
    r"todo\w*|hiddennote|fixme|fxnote|fxwarning|fxerror|fxfatal|tbd|tk|missing(?:text)?|hltodo|comment|authornote|marginnote|marginpar"
)
_TEXTUAL = re.compile(
    r"(?:[Cc]itet|[Tt]extcite|newcite|(?:short)?cite[AN]$|[Cc]iteauthor|citealt$|citeposs|possessivecite|[Ff]ullcite)"
)

LEVELS = {"part": 0, "chapter": 1, "addchap": 1, "section": 2, "addsec": 2, "subsection": 3, "subsubsection": 4}
"""The level of each heading: the text of a section includes its subsections."""
HEADINGS = frozenset(LEVELS)
RUN_IN = frozenset(("paragraph", "subparagraph"))
SEPARATE = frozenset("footnote footnotetext endnote sidenote caption captionof captionbox subcaption subcaptionbox".split())
"""Commands whose argument is a paragraph of its own."""
BREAKS = frozenset(
    "par item bigskip medskip smallskip newpage clearpage cleardoublepage pagebreak maketitle appendix centering".split()
)
SKIPPED = {
    name: count
    for count, names in {
        0: (
            "noindent indent protect xspace small footnotesize scriptsize tiny large Large LARGE huge Huge normalsize "
            "bfseries itshape raggedright tableofcontents listoffigures listoftables printbibliography frontmatter "
            "mainmatter backmatter hfill vfill newline linebreak maketitle sloppy boldmath bf it em sc tt rm sf"
        ),
        1: (
            "label ref eqref autoref cref Cref crefrange vref nameref pageref subref hyperref includegraphics vspace "
            "hspace usepackage documentclass bibliographystyle url nolinkurl path pagestyle thispagestyle hypersetup "
            "geometry graphicspath index glsadd color pagecolor usetikzlibrary includeonly phantom vphantom hphantom "
            "pgfplotsset lstset sisetup email orcid ead affil affiliation address institute date keywords acmConference "
            "acmDOI acmISBN acmYear copyrightyear setcopyright ccsdesc thanks inst IEEEauthorblockA RequirePackage "
            "PassOptionsToPackage bibliography addbibresource addglobalbib addsectionbib input include subfile "
            "institution city country titlerunning authorrunning shorttitle shortauthors corref cortext fntext tnotetext "
            "runningtitle runninghead lhead rhead chead lfoot rfoot cfoot pdfinfo newcounter stepcounter refstepcounter "
            "printbibheading tnoteref fnref subtitle altaffilmark tablenotemark arabic value journal received textsuperscript "
            "pagenumbering selectlanguage KOMAoptions bookmarksetup markright setstretch loadglsentries "
            "textsubscript gdef bstctlcite cmidrule bibitem citestyle setcitestyle deleted st sout "
            "usekomafont lipsum Blindtext blindtext kant"
        ),
        2: (
            "setlength addtolength setcounter addtocounter definecolor newtheorem DeclareMathOperator addcontentsline "
            "addchaptertocentry markboth "
            "acrodef newacro nomenclature pdfbookmark newglossaryentry DeclareAcronym acrodefplural "
            "rule hyperlink altaffiltext colorlet newlength crefname Crefname titleformat settopmatter "
            "defcitealias bibcite defbibheading setkomafont addtokomafont fontsize multido"
        ),
        3: ("multirow newacronym newabbreviation longnewglossaryentry"),
    }.items()
    for name in names.split()
}
"""Commands that print no running text, with the number of their arguments."""
LENGTHS = frozenset("kern mkern hskip vskip mskip lower raise moveleft moveright".split())
"""Commands of TeX that are followed by a length."""
LOGOS = {
    name: name
    for name in (
        "TeX LaTeX BibTeX BibLaTeX XeTeX XeLaTeX LuaTeX LuaLaTeX pdfTeX pdfLaTeX ConTeXt AMSTeX AmSTeX AmSLaTeX SLiTeX TikZ"
    ).split()
} | {"LaTeXe": "LaTeX2e", "AmS": "AMS"}
"""Names that are set in a special way; what a draft defines them as is not for readers."""
LAST_ARGUMENT = frozenset(
    (
        "href textcolor hypertarget colorbox foreignlanguage foreignquote textlang parbox raisebox scalebox resizebox "
        "multicolumn texorpdfstring tablenotetext"
    ).split()
)
"""Commands whose first argument is not text; the last one is."""
RAISED = frozenset(("textsuperscript", "textsubscript"))
"""Skipped commands whose argument may be a citation that belongs to the sentence."""
MARGIN = frozenset("marginpar marginnote".split())
"""Notes that are printed: their citations count."""
ACKNOWLEDGEMENTS = re.compile(r"acks?|acknowledge?ments?|credits", re.IGNORECASE)
"""Commands and environments that begin acknowledgements."""
NO_TEXT = frozenset(
    (
        "tabular tabularx tabulary tabu longtable supertabular array tikzpicture pgfpicture algorithm algorithmic "
        "algorithm2e figure table wrapfigure wraptable sidewaysfigure sidewaystable SCfigure SCtable subfigure subtable "
        "marginfigure margintable teaserfigure listing picture forest titlepage tblr talltblr longtblr NiceTabular"
    ).split()
)
"""Environments without running text, apart from captions."""
MATH = frozenset(
    (
        "equation align gather multline eqnarray math displaymath alignat flalign split dmath empheq IEEEeqnarray subequations"
    ).split()
)
UNREAD = frozenset("acronym IEEEkeywords keyword keywords CCSXML thebibliography biblist".split())
"""Environments that are not read."""
ARGUMENTS = {
    "tabular": 1,
    "tabularx": 2,
    "tabulary": 2,
    "longtable": 1,
    "array": 1,
    "minipage": 1,
    "multicols": 1,
    "wrapfigure": 2,
    "wraptable": 2,
    "thebibliography": 1,
    "adjustbox": 1,
    "adjustwidth": 2,
    "spacing": 1,
    "alignat": 1,
    "tblr": 1,
    "supertabular": 1,
    "subfigure": 1,
    "subtable": 1,
    "otherlanguage": 1,
}
"""Number of arguments after ``\\begin{...}``."""


def is_citation(name: str) -> bool:
    """Whether a command cites: those of natbib, biblatex, apacite and others all have "cite" in their names."""
    return bool(_CITES.fullmatch(name)) and name not in _NO_CITATION


def is_gap(name: str) -> bool:
    """Whether the name of a command says that a citation is missing."""
    return bool(_GAP.fullmatch(name))


def is_note(name: str) -> bool:
    """Whether a command contains a note of the authors to themselves."""
    return bool(_NOTE.fullmatch(name.lower())) and name not in _PRINTED


def is_textual(name: str) -> bool:
    """Whether the citation is part of its sentence, as in "Färber and Jatowt (2020) survey"."""
    return bool(_TEXTUAL.match(name))


def is_known(name: str) -> bool:
    """Whether the meaning given here overrides the definition of a command in the draft."""
    return (
        is_citation(name)
        or is_gap(name)
        or is_note(name)
        or name in HEADINGS | RUN_IN | SEPARATE | BREAKS | LAST_ARGUMENT
        or name in SKIPPED
        or name in LOGOS
        or name in ("title", "author", "abstract", "begin", "end", "cite", "nocite")
    )
