"""LaTeX as it appears in print."""

import pytest

from citewell.sources.latex import to_text, verbatim


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("Plain words, 5% & more", "Plain words, 5% & more"),
        (r"B\textcolor{red}{oa}ts\\[2mm] float\vspace{2mm}, {\color[rgb]{1,0,0}L\kern-.36em A}", "Boats float, LA"),
        (r"The \texorpdfstring{$\alpha$}{alpha} decay\label{x}, a\\[see] b", "The alpha decay, a [see] b"),
        (
            r"{\"O}sterreich, Fran{\c c}ais, \v{S}koda, G\"odel, na\"{\i}ve, \'{\i}ndice",
            "Österreich, Français, Škoda, Gödel, naïve, índice",
        ),
        (
            r"Erd{\H o}s, \AA rhus, \O re, {\ss}, {\L}ukasiewicz, \r{a}, \k{e}, \u{g}",
            "Erdős, Århus, Øre, ß, Łukasiewicz, å, ę, ğ",
        ),
        (r"\'Etude, \~n, \^{o}, \`a, \=a, \.z", "Étude, ñ, ô, à, ā, ż"),
        ("{BERT} and {{Deep}} {L}earning", "BERT and Deep Learning"),
        (r"50\% of \$5 \& \#1 \_ \{x\}", "50% of $5 & #1 _ {x}"),
        ("pages 1--2 --- ``quoted''", "pages 1–2 — “quoted”"),
        ("a~b\\ c\\,d\\\\e", "a b c d e"),
        (r"$O(n^2)$ and $\alpha$-divergence", "O(n^2) and α-divergence"),
        ("it costs $5 or $10", "it costs $5 or $10"),
        (r"\emph{very} \textbf{bold} {\em old} \unknown{kept}", "very bold old kept"),
        (r"\href{http://x.org}{here}", "here (http://x.org)"),
        (r"\textasciitilde{} \textbackslash{} \textasciicircum{} \textbraceleft{}", "~ \\ ^ {"),
        (r"\LaTeX{} rocks", "LaTeX rocks"),
        ("unbalanced { braces } } \\", "unbalanced braces \\"),
        ("", ""),
    ],
)
def test_to_text(written: str, text: str) -> None:
    assert to_text(written) == text


def test_addresses_keep_their_tildes_and_dashes() -> None:
    assert verbatim("https://example.org/~me/a--b_c%20d") == "https://example.org/~me/a--b_c%20d"
    assert verbatim(r"{https://example.org/\~{}me/a\_b\%20c}") == "https://example.org/~me/a_b%20c"
    assert verbatim(r"\url{https://example.org/{\textasciitilde}me}") == "https://example.org/~me"


def test_hostile_fields_take_linear_time() -> None:
    for piece in ("{", "}", "\\", "$", "\\'", "\\'{", "\\href{", "$a", "\\v", "--", "~ "):
        assert isinstance(to_text(piece * 100_000), str)
