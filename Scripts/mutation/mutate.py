"""Judges mutants by the tests: see Scripts/mutate."""

import argparse
import concurrent.futures
import hashlib
import os
import resource
import threading
import time
import tomllib

import sites
import suites
import tree

EQUIVALENT = tree.ROOT / "Scripts" / "mutation" / "equivalent.toml"
SCORE_MIN = 0.9
MODULE_NUMBERS = 800  # numbers for each module: tree.FIRST_PLANTED has room for five
# Some do not compile. With as many more, the build is seldom repeated.
SPARE = 0.15
SUITE_SECONDS_MAX = 900.0
BATCH_SECONDS = 3.0  # suites that take no longer together share a process
MEMORY_MAX, FILE_BYTES_MAX = 8 << 30, 1 << 30


class State:
    """What is known of the mutants, kept from one run to the next."""

    def __init__(self):
        saved = tree.load("state.json", {})
        self.refused = saved.get("refused", {})  # those that do not compile, by key: what the compiler says
        self.coverage = saved.get("coverage", {})  # by suite: fingerprint, seconds, keys of those reached
        self.verdicts = saved.get("verdicts", {})  # by key: how it was killed, or which suites it survived
        self.lock = threading.Lock()

    def save(self):
        tree.store("state.json", {"refused": self.refused, "coverage": self.coverage, "verdicts": self.verdicts})


def quotas(modules, count):
    """How many of each module, in proportion to its sites. The largest remainders are rounded up."""
    total = sum(len(found) for found in modules.values())
    exact = {module: count * len(found) / total for module, found in modules.items()}
    quota = {module: int(share) for module, share in exact.items()}
    for module in sorted(exact, key=lambda module: quota[module] - exact[module])[: count - sum(quota.values())]:
        quota[module] += 1
    return quota


def draw(modules, seed):
    """The sites of each module in the order in which they are taken, with their numbers."""
    order = {}
    for position, (module, found) in enumerate(modules.items()):
        order[module] = sites.drawn(seed, found)[: MODULE_NUMBERS - 1]
        for rank, site in enumerate(order[module]):
            site.number = 1 + position * MODULE_NUMBERS + rank
    return order


def first(order, quota, refused, spare=0.0):
    """The first mutants of each module that are not refused, and, of what follows them, a part as large as `spare`."""
    chosen = []
    for module, found in order.items():
        usable = [site for site in found if site.key not in refused]
        if len(usable) < quota[module]:
            raise tree.Failure(f"{module} has only {len(usable)} mutants that compile")
        # Those that are refused are not replaced as long as there are enough: a file that stays is not built again.
        drawn = found[: quota[module] + int(quota[module] * spare + 0.999)]
        beside = [site for site in drawn if site.key not in refused] if spare else []
        chosen += beside if len(beside) >= quota[module] else usable[: quota[module]]
    return chosen


def build(order, quota, state):
    """Builds as many as are wanted. Those that do not compile are replaced by the next of their module."""
    while True:
        built = first(order, quota, state.refused, SPARE)
        by_number = {site.number: site for site in built}

        def refuse(refused):
            for number, reason in refused.items():
                show(by_number[number], f"left out: {reason}")
                state.refused[by_number[number].key] = reason
            state.save()

        suites.build([site.edit() for site in built], refuse)
        wanted = first(order, quota, state.refused)
        if {site.key for site in wanted} <= {site.key for site in built}:
            return wanted


def cover(found, wanted, state, jobs, longest):
    """Runs each suite without a mutant: what it reaches, and how long it takes. One that takes longer than `longest` is left out."""
    by_number = {site.number: site.key for site in wanted}
    prints = suites.fingerprints(found.names)
    drawn = hashlib.sha256("".join(sorted(by_number.values())).encode()).hexdigest()[:16]

    def look(name):
        now = [prints[name], drawn]
        known = state.coverage.get(name)
        if known and known["of"] == now and (known["reached"] is not None or known["seconds"] >= longest):
            return
        trace = tree.WORK / f"trace-{threading.get_ident()}"
        trace.unlink(missing_ok=True)
        outcome = found.run([name], longest, trace=trace)
        if not outcome.passed and not (outcome.is_over or longest == SUITE_SECONDS_MAX):
            trace.unlink()
            with state.lock:
                state.coverage[name] = {"of": now, "seconds": longest, "reached": None}
                state.save()
            return
        if not outcome.passed:
            (tree.WORK / "suite.log").write_text(outcome.output, encoding="utf-8")
            raise tree.Failure(f"{name} fails without a mutant: {outcome.how}; see {tree.WORK / 'suite.log'}")
        marks = trace.read_bytes()
        trace.unlink()
        reached = sorted(key for number, key in by_number.items() if marks[number])
        with state.lock:
            state.coverage[name] = {"of": now, "seconds": round(outcome.seconds, 3), "reached": reached}
            state.save()

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for future in [pool.submit(look, name) for name in found.names]:
            future.result()
    return {
        name: state.coverage[name] for name in found.names
        if state.coverage[name]["reached"] is not None and state.coverage[name]["seconds"] <= longest}


def batches(names, coverage, module):
    """The suites in the order in which they are tried: those of the changed module, then the others, the cheapest first."""
    batch, seconds = [], 0.0
    for name in sorted(names, key=lambda name: (not name.startswith(f"{module}Tests."), coverage[name]["seconds"], name)):
        if batch and seconds + coverage[name]["seconds"] > BATCH_SECONDS:
            yield batch, seconds
            batch, seconds = [], 0.0
        batch.append(name)
        seconds += coverage[name]["seconds"]
    if batch:
        yield batch, seconds


def judge(site, found, coverage, state):
    """Tries the suites that reach a mutant, until one of them notices it."""
    verdict = state.verdicts.get(site.key, {})
    if verdict.get("killed"):
        return verdict
    passed = verdict.get("passed", {})
    names = [
        name for name, covered in coverage.items() if site.key in covered["reached"] and passed.get(name) != covered["of"][0]]
    verdict = {"killed": None, "passed": passed}
    for batch, seconds in batches(names, coverage, site.file.split("/")[1]):
        outcome = found.run(batch, max(suites.SECONDS_MIN, suites.TIMES_NORMAL * seconds), site.number)
        if not outcome.passed:
            verdict = {"killed": f"{outcome.how}, in {batch[0] if len(batch) == 1 else f'one of {len(batch)} suites'}"}
            break
        verdict["passed"] |= {name: coverage[name]["of"][0] for name in batch}
    with state.lock:
        state.verdicts[site.key] = verdict
        state.save()
    return verdict


def equivalents(modules):
    """The mutants that are known to change nothing that can be observed, each with the reason."""
    if not EQUIVALENT.exists():
        return {}
    with open(EQUIVALENT, "rb") as file:
        entries = tomllib.load(file).get("mutant", [])
    by_text = {}
    for found in modules.values():
        for site in found:
            by_text.setdefault((site.file, site.original, site.changed), []).append(site)
    explained = {}
    for entry in entries:
        here = by_text.get((entry["file"], entry["line"].strip(), entry["changed"].strip()))
        if not here:
            raise tree.Failure(f"{EQUIVALENT.name} explains a change that cannot be made any more: {entry['file']}: {entry['line'].strip()}")
        explained |= {site.key: entry["reason"] for site in here}
    return explained


def show(site, note):
    tree.say(f"{site.file}:{site.line}  {site.kind}, {note}\n    {site.original}\n    {site.changed}")


def report(wanted, explained, state, reached):
    """Prints the survivors and the score. Returns whether the score is enough."""
    survivors = [site for site in wanted if not state.verdicts[site.key]["killed"]]
    wrong = [site for site in wanted if site.key in explained and site not in survivors]
    equivalent = [site for site in survivors if site.key in explained]
    left = [site for site in survivors if site.key not in explained]
    for site in sorted(left, key=lambda site: (site.file, site.line)):
        show(site, "survives" if site.key in reached else "not reached by any test")
    for site in wrong:
        show(site, f"explained as equivalent, and killed: {state.verdicts[site.key]['killed']}")
    counted = len(wanted) - len(equivalent)
    score = (counted - len(left)) / counted if counted else 1.0
    tree.say(
        f"{len(wanted) - len(survivors)} of {len(wanted)} mutants are killed; of the other {len(survivors)}, {len(equivalent)} are"
        f" explained as equivalent, and {len(left)} survive ({sum(site.key not in reached for site in left)} not reached)")
    tree.say(f"score: {100 * score:.1f} %")
    return score >= SCORE_MIN and not wrong


def main():
    parser = argparse.ArgumentParser(prog="mutate", description="Changes the sources at random places, and looks whether a test notices.")
    parser.add_argument("--seed", type=int, default=1, help="which places are drawn (1)")
    parser.add_argument("--count", type=int, default=300, help="how many (300)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="tests at a time (as many as there are cores)")
    parser.add_argument("--resume", action="store_true", help="keep what an earlier run found: a mutant that was killed stays killed")
    parser.add_argument(
        "--longest", type=float, default=SUITE_SECONDS_MAX, metavar="SECONDS",
        help="leave out suites that take longer: what only they notice then survives")
    parser.add_argument(
        "--only", type=lambda text: text.split(","), metavar="FILE:LINE,…",
        help="keep what an earlier run found, and judge only the mutants at these places; a FILE may be the end of a path")
    parser.add_argument("--list", action="store_true", help="print the places that are drawn first, and do nothing with them")
    arguments = parser.parse_args()
    modules = sites.all_sites()
    explained = equivalents(modules)
    quota = quotas(modules, arguments.count)
    order = draw(modules, arguments.seed)
    if arguments.list:
        for site in first(order, quota, {}):
            show(site, f"number {site.number}")
        return 0
    state = State()
    if not arguments.resume and not arguments.only:
        state.coverage, state.verdicts = {}, {}
    total = sum(len(found) for found in modules.values())
    shares = ", ".join(f"{quota[module]} in {module}" for module in modules)
    tree.say(f"{arguments.count} mutants of {total} are drawn with seed {arguments.seed}: {shares}")
    started = time.monotonic()
    wanted = build(order, quota, state)
    tree.say(f"they are built, {time.monotonic() - started:.0f} s")
    found = suites.Suites()
    # A mutant that never ends must not take the machine with it.
    os.nice(5)
    for limit, bound in ((resource.RLIMIT_AS, MEMORY_MAX), (resource.RLIMIT_FSIZE, FILE_BYTES_MAX), (resource.RLIMIT_CORE, 0)):
        resource.setrlimit(limit, (bound, resource.getrlimit(limit)[1]))
    started = time.monotonic()
    coverage = cover(found, wanted, state, arguments.jobs, arguments.longest)
    reached = {key for covered in coverage.values() for key in covered["reached"]}
    tree.say(f"{len(coverage)} of {len(found.names)} suites are run, and reach {len(reached)} of them, {time.monotonic() - started:.0f} s")
    if arguments.only:
        wanted = [site for site in wanted if any(f"/{site.file}:{site.line}".endswith(f"/{place}") for place in arguments.only)]
        if not wanted:
            raise tree.Failure("none of the mutants is at these places: see --list")
    started, done, lock = time.monotonic(), 0, threading.Lock()

    def work(site):
        nonlocal done
        begun = time.monotonic()
        verdict = judge(site, found, coverage, state)
        with lock:
            done += 1
            how = f"killed: {verdict['killed']}" if verdict["killed"] else "survives"
            tree.say(f"{done:4}/{len(wanted)}  {time.monotonic() - begun:6.1f} s  {site.file}:{site.line}  {how}")

    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        # In a mixed order, so the first ones tell how long all will take. Those that are explained take longest, and come last.
        for future in [pool.submit(work, site) for site in sorted(wanted, key=lambda site: (site.key in explained, site.key))]:
            future.result()
    tree.say(f"all are judged, {time.monotonic() - started:.0f} s")
    return 0 if report(wanted, explained, state, reached) else 1
