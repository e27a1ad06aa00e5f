"""Measure the secret scanner: what it finds, what it cries wolf about, and what a line costs.

    python -m bench.secrets [FOLDER_OR_FILE …] [--detect-secrets PYTHON] [--show dev|held|unknown|false]

Positives are synthetic (bench/secrets/samples.py). Ordinary lines are generated, read from the arguments, and
taken from Python's standard library. Another scanner is run from the interpreter that has it installed.
"""

import argparse
import json
import math
import random
import re
import subprocess
import sysconfig
import time
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from bench.secrets import contexts, samples
from memcli.secrets import redact, scan

NOUNS = ("token", "api key", "secret", "access token", "secret key")
OTHER_SCANNER = """
import json, os, sys, tempfile, time
from detect_secrets import SecretsCollection
from detect_secrets.settings import default_settings, transient_settings
texts, plugins, answers = json.load(sys.stdin), sys.argv[1:], []
with tempfile.TemporaryDirectory() as folder:
    paths = []
    for number, text in enumerate(texts):
        paths.append(os.path.join(folder, f"{number}.md"))
        with open(paths[-1], "w", encoding="utf-8") as file:
            file.write(text)
    with transient_settings({"plugins_used": [{"name": n} for n in plugins]}) if plugins else default_settings():
        begin = time.perf_counter()
        for path in paths:
            found = SecretsCollection()
            found.scan_file(path)
            answers.append([[s.line_number, s.secret_value or ""] for _, s in found])
        spent = time.perf_counter() - begin
json.dump([spent, answers], sys.stdout)
"""
RULE_PLUGINS = (
    "ArtifactoryDetector AWSKeyDetector AzureStorageKeyDetector BasicAuthDetector CloudantDetector "
    "DiscordBotTokenDetector "
    "GitHubTokenDetector GitLabTokenDetector IbmCloudIamDetector IbmCosHmacDetector JwtTokenDetector MailchimpDetector "
    "NpmDetector OpenAIDetector PrivateKeyDetector PypiTokenDetector SendGridDetector SlackDetector SoftlayerDetector "
    "SquareOAuthDetector StripeDetector TelegramBotTokenDetector TwilioKeyDetector"
)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="*", type=Path, help="folders or files of ordinary text")
    parser.add_argument(
        "--detect-secrets", metavar="PYTHON", help="an interpreter with detect-secrets installed"
    )
    parser.add_argument(
        "--each", type=int, default=700, help="generated ordinary lines of each kind"
    )
    parser.add_argument(
        "--show", choices=["dev", "held", "unknown", "false"], help="list what went wrong there"
    )
    options = parser.parse_args()

    positives = [*tokens(), *passwords(), *carriers()]
    plain = ordinary(options.paths, options.each)
    scanners: dict[str, Callable[[list[str]], Answers]] = {"mem": by_mem, "entropy": by_entropy}
    if options.detect_secrets:
        python = options.detect_secrets
        scanners["detect-secrets"] = lambda texts: by_other(texts, python, [])
        scanners["detect-secrets, rules alone"] = lambda texts: by_other(
            texts, python, RULE_PLUGINS.split()
        )

    lines = sum(text.count("\n") + 1 for _, text in plain)
    print(f"{len(positives)} positives, {lines} ordinary lines\n")
    print(
        "| scanner | recall dev | held | held, with a rule | held, no rule | false per 10,000 lines | µs per line |"
    )
    print("|---|---|---|---|---|---|---|")
    for name, scanner in scanners.items():
        answers = scanner([sample.text for sample in positives])
        verdicts = [
            is_found(sample, answer)
            for sample, answer in zip(positives, answers.found, strict=True)
        ]
        wrong = scanner([text for _, text in plain])
        flagged = sum(len({line for line, _ in answer}) for answer in wrong.found)
        row = [
            rate(positives, verdicts, parts)
            for parts in (["dev"], ["held", "unknown"], ["held"], ["unknown"])
        ]
        print(
            f"| {name} | {' | '.join(row)} | {1e4 * flagged / lines:.1f} | {1e6 * wrong.seconds / lines:.1f} |"
        )
        if name == "mem":
            kept = report(positives, verdicts, plain, wrong, options.show)
    print("\n" + kept)


@dataclass(frozen=True)
class Sample:
    """A text that holds one secret."""

    part: str  # dev, held or unknown
    family: str
    frame: str
    text: str
    secret: str


@dataclass(frozen=True)
class Answers:
    """What a scanner said of each text: line and value of each secret; and the time it took."""

    seconds: float
    found: list[list[tuple[int, str]]]


def tokens() -> Iterator[Sample]:
    """Put each kind of token in each frame of its half."""
    for part, families, frames, named in (
        ("dev", samples.TOKENS, contexts.FRAMES, False),
        ("dev", samples.NAMED, contexts.FRAMES, True),
        ("held", samples.HELD_TOKENS, contexts.HELD_FRAMES, False),
        ("dev", samples.LATER_TOKENS, contexts.HELD_FRAMES, False),
        ("unknown", samples.UNKNOWN_TOKENS, contexts.HELD_FRAMES, False),
        ("unknown", samples.UNKNOWN_NAMED, contexts.HELD_FRAMES, True),
        ("unknown", samples.HELD_NAMED, contexts.HELD_FRAMES, True),
    ):
        for family, makes in families.items():
            for frame, write in frames.items():
                for number, make in enumerate(makes):
                    draw = samples.Draw(f"{part}/{family}/{frame}/{number}")
                    secret = make(draw)
                    broken = "wrapped" in frame or frame in ("continued", "concatenated")
                    if (named and frame in contexts.NAMELESS) or (broken and "PRIVATE" in secret):
                        continue
                    if frame == "url" and not re.fullmatch(r"[\w.~-]+", secret):
                        continue
                    noun = draw.one(*NOUNS)
                    yield Sample(
                        part, family, frame, write(draw.random, family, noun, secret), secret
                    )


def passwords() -> Iterator[Sample]:
    """Put each kind of password in each frame of its half, three times."""
    for part, kinds, frames in (
        ("dev", samples.PASSWORDS, contexts.PASSWORD_FRAMES),
        ("held", samples.HELD_PASSWORDS, contexts.HELD_PASSWORD_FRAMES),
    ):
        for kind, make in kinds.items():
            for frame, write in frames.items():
                for number in range(3):
                    draw = samples.Draw(f"{part}/{kind}/{frame}/{number}")
                    secret = make(draw)
                    yield Sample(
                        part,
                        f"password: {kind}",
                        frame,
                        write(draw.random, "staging", "password", secret),
                        secret,
                    )


def carriers() -> Iterator[Sample]:
    """Put passwords into URLs and into basic authentication."""
    for part, urls, kinds in (
        ("dev", samples.URLS, samples.PASSWORDS),
        ("held", samples.HELD_URLS, samples.HELD_PASSWORDS),
    ):
        for scheme, url in urls.items():
            for kind, make in kinds.items():
                secret = quote(make(samples.Draw(f"{scheme}/{kind}")), safe="!*")
                yield Sample(
                    part, f"url: {scheme}", kind, f"DSN is `{url.format(secret)}` for now", secret
                )
    for kind, make in samples.HELD_PASSWORDS.items():
        secret = b64encode(b"deploy:" + make(samples.Draw(kind)).encode()).decode()
        yield Sample(
            "held",
            "basic auth",
            kind,
            f"curl -H 'Authorization: Basic {secret}' https://acme.io",
            secret,
        )


def ordinary(paths: list[Path], each: int) -> list[tuple[str, str]]:
    """Collect ordinary texts with their kind: generated, from the paths, and from the standard library."""
    generated: dict[str, list[str]] = {}
    for kind, line in contexts.ordinary(random.Random(20261121), each):
        generated.setdefault(kind, []).append(line)
    texts = [
        (kind, "\n".join(lines[n : n + 40]))
        for kind, lines in generated.items()
        for n in range(0, len(lines), 40)
    ]
    for path in paths:
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        texts += [(str(file), read) for file in files if file.is_file() and (read := text_of(file))]
    library = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    return texts + [(str(file), file.read_text(encoding="utf-8")) for file in library]


def text_of(file: Path) -> str:
    """Read a file; nothing where it is no text."""
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""


def by_mem(texts: list[str]) -> Answers:
    """Scan with mem."""
    scan("password: token key ://")  # patterns are compiled once a process
    begin = time.perf_counter()
    found = [scan(text) for text in texts]
    seconds = time.perf_counter() - begin
    return Answers(
        seconds,
        [
            [(f.line, text[f.start : f.end]) for f in each]
            for text, each in zip(texts, found, strict=True)
        ],
    )


def by_entropy(texts: list[str]) -> Answers:
    """Scan by Shannon entropy of long words alone, with the limits such scanners use: 4.5 bits, 3 for hex."""
    begin = time.perf_counter()
    found = []
    for text in texts:
        hits = []
        for number, line in enumerate(text.split("\n"), 1):
            for word in re.findall(r"[A-Za-z0-9+/=_-]{20,}", line):
                limit = 3.0 if re.fullmatch("[0-9a-fA-F]+", word) else 4.5
                counts = Counter(word).values()
                if -sum(n / len(word) * math.log2(n / len(word)) for n in counts) > limit:
                    hits.append((number, word))
        found.append(hits)
    return Answers(time.perf_counter() - begin, found)


def by_other(texts: list[str], python: str, plugins: list[str]) -> Answers:
    """Scan with detect-secrets, each text a file of its own."""
    run = subprocess.run(
        [python, "-c", OTHER_SCANNER, *plugins],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, found = json.loads(run.stdout)
    return Answers(seconds, [[(line, value) for line, value in each] for each in found])


def is_found(sample: Sample, answer: list[tuple[int, str]]) -> bool:
    """Tell whether the secret was seen: nearly all of its longest run lies in what was reported."""
    core = core_of(sample)
    seen = "\n".join(value for _, value in answer)
    windows = [core[n : n + 6] for n in range(max(1, len(core) - 5))]
    hits = sum(window in seen for window in windows)
    header = "PRIVATE" + " KEY"  # who names the header has found the key
    # A line break inside the secret hides some windows.
    return hits >= 0.6 * len(windows) or (header in sample.secret and header in seen)


def core_of(sample: Sample) -> str:
    """Return the longest run of the secret that is not a name or an address."""
    runs = re.findall(r"[^\s/;:.\\=]+", sample.secret)
    return max([run for run in runs if any(char.isdigit() for char in run)] or runs, key=len)


def rate(positives: list[Sample], verdicts: list[bool], parts: list[str]) -> str:
    """Show the share found of the positives of these parts."""
    chosen = [
        found for sample, found in zip(positives, verdicts, strict=True) if sample.part in parts
    ]
    return f"{sum(chosen) / len(chosen):.3f} of {len(chosen)}"


def report(
    positives: list[Sample],
    verdicts: list[bool],
    plain: list[tuple[str, str]],
    wrong: Answers,
    show: str | None,
) -> str:
    """List what mem missed and what it flagged wrongly, and say how much of what it found is gone when redacted."""
    held = [(s, v) for s, v in zip(positives, verdicts, strict=True) if s.part != "dev"]
    gone = [s for s, v in held if v and is_gone(s)]
    lines = [
        f"redacted whole: {len(gone)} of the {sum(v for _, v in held)} held ones found",
        "",
        "held, by frame:",
    ]
    frames = {
        s.frame: [v for t, v in held if t.frame == s.frame] for s, _ in held if "|" not in s.frame
    }
    lines += [f"  {frame}: {sum(each)}/{len(each)}" for frame, each in frames.items()]
    for sample, found in zip(positives, verdicts, strict=True):
        if show == sample.part and not found:
            lines.append(f"missed {sample.family} in {sample.frame}: {sample.text!r}"[:300])
        elif show == sample.part and not is_gone(sample):
            lines.append(
                f"partly {sample.family} in {sample.frame}: {redact(sample.text, scan(sample.text))!r}"[
                    :300
                ]
            )
    for (kind, text), answer in zip(plain, wrong.found, strict=True):
        for line, _ in answer:
            if show == "false":
                lines.append(f"false in {kind}:{line}: {text.split(chr(10))[line - 1]!r}"[:300])
    by_kind = Counter(
        kind if "/" not in kind else "files"
        for (kind, _), a in zip(plain, wrong.found, strict=True)
        for _ in a
    )
    return "\n".join([*lines, f"false alarms by kind: {dict(by_kind)}"])


def is_gone(sample: Sample) -> bool:
    """Tell whether no eight characters in a row of the secret outlive redaction."""
    core = core_of(sample)
    rest = redact(sample.text, scan(sample.text))
    return not any(core[n : n + 8] in rest for n in range(max(1, len(core) - 7)))


if __name__ == "__main__":
    main()
