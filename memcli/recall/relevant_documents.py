"""Find the passages that fit a prompt in the folders of documents beside the memories."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from ..errors import MemError
from ..formats.memory_page import strip_comments
from ..formats.text_lines import FileProblem
from ..index.filters import Filter
from ..index.index import Index, ask
from ..index.lookups import IndexedFile, indexed_files
from ..search.index_search import SearchRequest, search_index
from ..search.reference_docs import folders
from ..search.results import DOCUMENT, Hit, SearchResults
from ..store.workspace import Workspace
from .always_on_context import digest
from .memory_reader import NOTHING, excerpt, part_named
from .pack import DOCUMENTS, Memory
from .request import Matches

POOL = 60


def relevant_documents(workspace: Workspace, query: str, mode: str, seconds: float) -> Matches:
    """Return the passages of the folders of `index.include` that fit a prompt, the best first.

    A folder that cannot be searched becomes a notice. Embedding takes at most `seconds` in all.
    """
    from ..store.redaction import redactor

    named, refused = folders(workspace)
    clean = redactor(workspace, "documents").text  # nobody looked through them when they were written
    notices = list(refused)
    memories: list[Memory] = []
    problems: list[FileProblem] = []
    for name, folder in named.items():
        request = SearchRequest(
            query, POOL, Filter(), mode, workspace.settings["recall.min_score"], embed_budget=seconds / len(named)
        )
        try:
            results, texts = ask(folder, lambda index, request=request: _with_texts(index, request))  # type: ignore[misc]
        except MemError as error:
            notices.append(f"index.include: {name}: {error}")
            continue
        problems += [replace(problem, path=f"{name}/{problem.path}") for problem in results.problems]
        for hit in results.hits:
            if (folder.root / hit.path).is_relative_to(workspace.root):
                continue  # memories, which have their own rules
            memories.append(_document(folder, name, hit, texts.get(hit.path, NOTHING), query, clean))
    memories.sort(key=lambda memory: -memory.score)
    return Matches(tuple(memories), tuple(problems), tuple(notices))


def _with_texts(index: Index, request: SearchRequest) -> tuple[SearchResults, Mapping[str, IndexedFile]]:
    results = search_index(index, request)
    return results, indexed_files(index, {hit.path for hit in results.hits})


def _document(
    folder: Workspace, name: str, hit: Hit, file: IndexedFile, query: str, clean: Callable[[str], str]
) -> Memory:
    body = part_named(folder, hit, file.text)
    # Before it is cut: half a secret is one too, and no rule would see it.
    text, is_whole = excerpt(clean(strip_comments(body) or hit.summary), query)
    return Memory(
        f"{name}/{hit.id}",
        DOCUMENTS,
        text,
        kind=DOCUMENT,
        path=f"{name}/{hit.path}",
        scope=hit.scope,
        summary=clean(hit.summary),
        relevance=hit.relevance,
        score=hit.relevance,
        is_whole=is_whole,
        digest=digest(body),
    )
