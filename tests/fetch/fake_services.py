"""An HTTP server that imitates the services as documented, with made-up papers; it can be made to fail.

Paper number n has the DOI 10.1000/n, the arXiv id 2001.0000n and so on, and cites paper n - 1.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

Reply = tuple[int, dict[str, str], bytes]
ROOTS = {"openalex": "openalex", "semantic_scholar": "s2", "crossref": "crossref", "arxiv": "arxiv", "pubmed": "pubmed"}
"""Where each service is on the server."""


class Services:
    """The server, the requests it received, and the errors it will make."""

    def __init__(self, papers: int = 250) -> None:
        self.papers = papers
        self.requests: list[tuple[str, dict[str, str], dict[str, str]]] = []
        """Path, parameters (those of a form too) and headers of every request, in order."""
        self.troubles: list[Callable[[str, dict[str, str]], Reply | None]] = []
        """Each sees every request before it is answered; one that answers instead is used up."""
        self.broken: set[int] = set()
        """Papers whose record is damaged."""
        self.delay = 0.0
        services = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                services._serve(self, b"")

            def do_POST(self) -> None:
                services._serve(self, self.rfile.read(int(self.headers.get("Content-Length", 0))))

            def log_message(self, format: str, *args: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            def handle_error(self, request: Any, client_address: Any) -> None:
                if not isinstance(sys.exc_info()[1], ConnectionError):  # a killed client is expected
                    super().handle_error(request, client_address)

        self._server = Server(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def paths(self) -> list[str]:
        return [path for path, _, _ in self.requests]

    def fail(self, times: int = 1, status: int = 500, headers: dict[str, str] | None = None, body: bytes = b"no") -> None:
        self.troubles += [lambda path, given: (status, headers or {}, body)] * times

    def _serve(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        parts = urlsplit(handler.path)
        given = {key: values[0] for key, values in parse_qs(parts.query, keep_blank_values=True).items()}
        if handler.headers.get("Content-Type", "").startswith("application/x-www-form-urlencoded"):
            given |= {key: values[0] for key, values in parse_qs(body.decode()).items()}
        self.requests.append((unquote(parts.path), given, {key.lower(): value for key, value in handler.headers.items()}))
        time.sleep(self.delay)
        for trouble in list(self.troubles):
            if (reply := trouble(parts.path, given)) is not None:
                self.troubles.remove(trouble)
                break
        else:
            reply = self._answer(unquote(parts.path), given, body)
        status, headers, content = reply
        handler.send_response(status)
        length = headers.pop("Content-Length", str(len(content)))
        for name, value in {**headers, "Content-Length": length}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(content)
        handler.close_connection = length != str(len(content))

    def _answer(self, path: str, given: dict[str, str], body: bytes) -> Reply:
        _, service, *rest = path.split("/")
        tail = "/" + "/".join(rest)
        return {
            "openalex": self._openalex,
            "s2": self._semantic_scholar,
            "crossref": self._crossref,
            "arxiv": self._arxiv,
            "pubmed": self._pubmed,
            "zotero": self._zotero,
        }[service](tail, given, body)

    # -- OpenAlex: cursors; the last one leads to an empty page --------------------------------------------------------

    def _openalex(self, path: str, given: dict[str, str], body: bytes) -> Reply:
        if path == "/authors":
            return as_json({"meta": {"count": 3}, "results": AUTHORS})
        if path.startswith("/works/doi:"):
            number = path.rpartition("/")[2].partition(",")[0]
            return as_json(self.openalex_work(int(number))) if number.isdigit() else as_json({"error": "Not found"}, 404)
        filters = dict(part.split(":", 1) for part in given.get("filter", "").split(",") if part)
        numbers = list(range(self.papers))
        for field in ("doi", "openalex", "pmid"):
            if field in filters:
                names = [value.rpartition("/")[2].lstrip("W") for value in filters[field].split("|")]
                numbers = [int(value) for value in names if value.isdigit() and int(value) < self.papers]
        size, cursor = int(given.get("per_page", "25")), given.get("cursor", "")
        if not cursor:
            return as_json({"meta": {"count": len(numbers)}, "results": [self.openalex_work(n) for n in numbers[:size]]})
        at = 0 if cursor == "*" else int(cursor.removeprefix("c"))
        page = numbers[at : at + size]
        following = f"c{at + len(page)}" if page else None
        meta = {"count": len(numbers), "page": None, "per_page": size, "next_cursor": following}
        return as_json({"meta": meta, "results": [self.openalex_work(n) for n in page], "group_by": []})

    def openalex_work(self, n: int) -> Any:
        if n in self.broken:
            return {"id": None, "title": 7}
        return {
            "id": f"https://openalex.org/W{n}",
            "doi": f"https://doi.org/10.1000/{n}",
            "title": f"Boats counted, part {n}",
            "display_name": f"Boats counted, part {n}",
            "ids": {"openalex": f"https://openalex.org/W{n}", "pmid": f"https://pubmed.ncbi.nlm.nih.gov/{n}"},
            "publication_year": 2000 + n % 20,
            "publication_date": f"{2000 + n % 20}-05-17",
            "type": "article",
            "primary_location": {"source": {"display_name": "Journal of Harbours"}, "landing_page_url": None},
            "authorships": [{"author": {"display_name": "Mira Holt"}}],
            "referenced_works": [f"https://openalex.org/W{n - 1}"] if n else [],
            "abstract_inverted_index": {"We": [0], "count": [1], "boats.": [2]},
        }

    # -- Semantic Scholar: offsets, tokens, batches with null for the unknown ------------------------------------------

    def _semantic_scholar(self, path: str, given: dict[str, str], body: bytes) -> Reply:
        if path == "/paper/batch":
            names = json.loads(body)["ids"]
            if len(names) > 500:
                return as_json({"error": "At most 500"}, 400)
            return as_json([self._s2_paper(name) for name in names])
        if path == "/paper/search/bulk":
            at = int(given.get("token", "0"))
            data = [{"paperId": f"{n:040x}"} for n in range(at, min(at + 1000, self.papers))]
            token = str(at + 1000) if at + 1000 < self.papers else None
            return as_json({"total": self.papers, "token": token, "data": data})
        if path == "/author/search":
            people = [
                {"authorId": "7", "name": "Mira Holt", "affiliations": ["Harbour School"], "paperCount": 5},
                {"authorId": "8", "name": "Ana Reis", "affiliations": [], "paperCount": 3},
            ]
            return as_json({"total": len(people), "offset": 0, "data": people})
        at, size = int(given.get("offset", "0")), int(given.get("limit", "100"))
        data = [{"paperId": f"{n:040x}", "year": 2000 + n % 20} for n in range(at, min(at + size, self.papers))]
        answer: dict[str, Any] = {"offset": at, "data": data}
        if path == "/paper/search":
            answer["total"] = self.papers
        if at + size < self.papers:
            answer["next"] = at + size
        return as_json(answer)

    def _s2_paper(self, name: str) -> Any:
        value = name.rpartition(":")[2].rpartition("/")[2].rpartition(".")[2]
        n = int(value, 16) if len(name) == 40 else int(value) if value.isdigit() else -1
        if not 0 <= n < self.papers:
            return None
        if n in self.broken:
            return "broken"
        return {
            "paperId": f"{n:040x}",
            "corpusId": n,
            "externalIds": {"DOI": f"10.1000/{n}", "CorpusId": n},
            "title": f"Boats counted, part {n}",
            "abstract": "We count boats.",
            "year": 2000 + n % 20,
            "authors": [{"authorId": "7", "name": "Mira Holt"}],
            "references": [
                {"paperId": f"{n - 1:040x}", "externalIds": {"DOI": f"10.1000/{n - 1}"}, "title": "x", "year": 2000}
            ],
        }

    # -- Crossref: offsets, cursors, filters of DOIs -------------------------------------------------------------------

    def _crossref(self, path: str, given: dict[str, str], body: bytes) -> Reply:
        if path.startswith("/works/"):
            doi = path.removeprefix("/works/")
            if doi != "10.1000/a,b":
                return 404, {"Content-Type": "text/plain"}, b"Resource not found."
            work = self.crossref_work(1) | {"DOI": doi}
            return as_json({"status": "ok", "message-type": "work", "message": work})
        filters = [part.split(":", 1) for part in given.get("filter", "").split(",") if part]
        dois = [value for field, value in filters if field == "doi"]
        tails = [doi.rpartition("/")[2] for doi in dois]
        numbers = (
            [int(tail) for tail in tails if tail.isdigit() and int(tail) < self.papers] if dois else list(range(self.papers))
        )
        rows = int(given.get("rows", "20"))
        cursor = given.get("cursor", "")
        at = int(given.get("offset", "0")) if cursor in ("", "*") else int(cursor)
        page = numbers[at : at + rows]
        message = {"total-results": len(numbers), "items": [self.crossref_work(n) for n in page], "items-per-page": rows}
        if cursor:
            message["next-cursor"] = str(at + len(page))
        return as_json({"status": "ok", "message-type": "work-list", "message": message})

    def crossref_work(self, n: int) -> Any:
        if n in self.broken:
            return {"publisher": "nobody", "title": []}
        return {
            "DOI": f"10.1000/{n}",
            "URL": f"http://dx.doi.org/10.1000/{n}",
            "type": "journal-article",
            "title": [f"Boats counted, part {n}"],
            "container-title": ["Journal of Harbours"],
            "author": [{"given": "Mira", "family": "Holt", "sequence": "first", "affiliation": []}],
            "issued": {"date-parts": [[2000 + n % 20, 5, 17]]},
            "abstract": "<jats:p>We count boats.</jats:p>",
            "reference": [{"key": "r1", "DOI": f"10.1000/{n - 1}", "doi-asserted-by": "publisher"}] if n else [],
        }

    # -- arXiv: an Atom feed -------------------------------------------------------------------------------------------

    def _arxiv(self, path: str, given: dict[str, str], body: bytes) -> Reply:
        if "malformed" in given.get("search_query", "") or "malformed" in given.get("id_list", ""):
            entry = "<entry><id>http://arxiv.org/api/errors#bad</id><title>Error</title><summary>bad query</summary></entry>"
            return feed(entry, 1)
        if listed := given.get("id_list"):
            tails = [int(name.rpartition(".")[2]) for name in listed.split(",")]
            numbers = [n for n in tails if n < self.papers]
        else:
            numbers = list(range(self.papers))
        at, size = int(given.get("start", "0")), int(given.get("max_results", "10"))
        return feed("".join(self._entry(n) for n in numbers[at : at + size]), len(numbers))

    def _entry(self, n: int) -> str:
        if n in self.broken:
            return f"<entry><id>http://arxiv.org/abs/2001.{n:05d}v1</id><title>Broken & open</entry>"
        return (
            f"<entry><id>http://arxiv.org/abs/2001.{n:05d}v2</id><published>2020-01-02T10:00:00Z</published>"
            f"<updated>2021-02-03T10:00:00Z</updated><title>Boats counted,\n  part {n}</title>"
            f"<summary>We count boats.</summary><author><name>Mira Holt</name></author><arxiv:doi>10.1000/{n}</arxiv:doi>"
            '<category term="cs.CV" scheme="http://arxiv.org/schemas/atom"/><category term="68T45"/></entry>\n'
        )

    # -- PubMed: a search as JSON, records as XML ----------------------------------------------------------------------

    def _pubmed(self, path: str, given: dict[str, str], body: bytes) -> Reply:
        if path == "/esearch.fcgi":
            term = given["term"]
            if "[doi]" in term:
                dois = [part.split('"')[1] for part in term.split(" OR ")]
                tails = [doi.rpartition("/")[2] for doi in dois]
                numbers = [tail for tail in tails if tail.isdigit() and 0 < int(tail) < self.papers]
            else:
                numbers = [str(n) for n in range(1, self.papers)]
            most = int(given["retmax"])
            result = {"count": str(len(numbers)), "retmax": given["retmax"], "retstart": "0", "idlist": numbers[:most]}
            return as_json({"header": {"type": "esearch", "version": "0.3"}, "esearchresult": result})
        numbers = [int(n) for n in given["id"].split(",") if 0 < int(n) < self.papers]
        if not numbers:
            return 400, {}, b"<ERROR>Cannot retrieve</ERROR>"
        articles = "".join(self._article(n) for n in numbers)
        return (
            200,
            {"Content-Type": "text/xml"},
            f'<?xml version="1.0" ?>\n<PubmedArticleSet>{articles}</PubmedArticleSet>'.encode(),
        )

    def _article(self, n: int) -> str:
        if n in self.broken:
            return f"<PubmedArticle><MedlineCitation><PMID>{n}</PMID><Article><ArticleTitle>a & b</Article></PubmedArticle>\n"
        return (
            f"<PubmedArticle><MedlineCitation><PMID>{n}</PMID><Article><ArticleTitle>Boats counted, part {n}.</ArticleTitle>"
            "<Journal><JournalIssue><PubDate><Year>2011</Year></PubDate></JournalIssue><Title>Harbours</Title></Journal>"
            "<Abstract><AbstractText>We count boats.</AbstractText></Abstract><AuthorList><Author><LastName>Holt</LastName>"
            "<ForeName>Mira</ForeName></Author></AuthorList></Article></MedlineCitation><PubmedData><ArticleIdList>"
            f'<ArticleId IdType="doi">10.1000/{n}</ArticleId></ArticleIdList></PubmedData></PubmedArticle>\n'
        )

    # -- Zotero's local API --------------------------------------------------------------------------------------------

    def _zotero(self, path: str, given: dict[str, str], body: bytes) -> Reply:
        if path == "/users/0/groups":
            return paged([{"id": 77, "data": {"id": 77, "name": "Lab"}}], given)
        if path == "/users/0/collections":
            collections = [("AAAA1111", "Boats", False), ("BBBB2222", "Small ones", "AAAA1111"), ("CCCC3333", "Gulls", False)]
            data = [{"key": key, "name": name, "parentCollection": parent} for key, name, parent in collections]
            return paged([{"key": each["key"], "data": each} for each in data], given)
        if path == "/groups/77/collections":
            return paged([], given)
        listed = [self._item(n) for n in range(self.papers)] if path.startswith("/users") else [self._item(self.papers)]
        if "/collections/" in path:
            key = path.split("/")[4]
            listed = [each for each in listed if key in each["data"].get("collections", [])]
        if tag := given.get("tag"):
            listed = [each for each in listed if {"tag": tag} in each["data"].get("tags", [])]
        return paged(listed, given)

    def _item(self, n: int) -> dict[str, Any]:
        kind = "attachment" if n == 3 else "journalArticle"
        data = {
            "key": f"ITEM{n:04d}",
            "itemType": kind,
            "title": f"Boats counted, part {n}",
            "creators": [{"creatorType": "author", "firstName": "Mira", "lastName": "Holt"}],
            "date": "May 17, 2011",
            "DOI": f"10.1000/{n}",
            "publicationTitle": "Journal of Harbours",
            "extra": f"Citation Key: holt{n}",
            "tags": [{"tag": "boats"}] if n % 2 else [],
            "collections": ["BBBB2222"] if n < 5 else [],
        }
        return {"key": data["key"], "version": 1, "data": data, "meta": {"parsedDate": "2011-05-17"}}


AUTHORS = [
    {
        "id": "https://openalex.org/A1",
        "display_name": "Mira Holt",
        "display_name_alternatives": ["M. Holt"],
        "works_count": 40,
        "last_known_institutions": [{"display_name": "Harbour School"}],
    },
    {"id": "https://openalex.org/A2", "display_name": "Mira J. Holt", "works_count": 3, "last_known_institutions": []},
    {"id": "https://openalex.org/A3", "display_name": "Mirabel Holter", "works_count": 90},
]


def as_json(value: Any, status: int = 200) -> Reply:
    return status, {"Content-Type": "application/json"}, json.dumps(value).encode()


def paged(listed: list[Any], given: dict[str, str]) -> Reply:
    at, size = int(given.get("start", "0")), int(given.get("limit", "100"))
    status, headers, body = as_json(listed[at : at + size])
    return status, headers | {"Total-Results": str(len(listed)), "Zotero-API-Version": "3"}, body


def feed(entries: str, total: int) -> Reply:
    name = escape("ArXiv Query: search_query=all:boats")
    body = (
        '<?xml version="1.0" encoding="UTF-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom" '
        'xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/" xmlns:arxiv="http://arxiv.org/schemas/atom">'
        f"<title>{name}</title><id>http://arxiv.org/api/abc</id>"
        f"<opensearch:totalResults>{total}</opensearch:totalResults>{entries}</feed>"
    )
    return 200, {"Content-Type": "application/atom+xml"}, body.encode()
