"""Time zones: what is shown on a terminal, and what dates and times without an offset mean, beside Python's own zones."""

import datetime
import os
import pathlib
import pty
import random
import unittest
import zoneinfo

from heartlog import BINARY, TestCase, environment, seed

UTC = datetime.timezone.utc
FOLDER = pathlib.Path("/usr/share/zoneinfo")
MINUTE = datetime.timedelta(minutes=1)
# Half an hour of summer time, a quarter of an hour off, a day that was skipped, summer in January, summer with less than winter.
ZONES = ["Europe/Berlin", "America/New_York", "Asia/Kolkata", "Pacific/Apia", "Australia/Lord_Howe", "Asia/Kathmandu", "America/Sao_Paulo",
         "Europe/Dublin"]
BERLIN_RULE = "CET-1CEST,M3.5.0,M10.5.0/3"


def text(time):
    return time.strftime("%Y-%m-%d %H:%M")


def local(time, zone):
    """What clocks show, without a zone."""
    return time.astimezone(zone).replace(tzinfo=None)


def changes(zone, first, last):
    """The minutes at which the offset changes: halved from day to day."""
    day = datetime.timedelta(days=1)
    while first < last:
        low, high = first, first + day
        if low.astimezone(zone).utcoffset() != high.astimezone(zone).utcoffset():
            while high - low > MINUTE:
                middle = low + (high - low) // 2
                middle -= datetime.timedelta(seconds=middle.second, microseconds=middle.microsecond)
                if middle.astimezone(zone).utcoffset() == low.astimezone(zone).utcoffset():
                    low = middle
                else:
                    high = middle
            yield high
        first += day


def bounds(shown, zone):
    """The first minute at which clocks show as much or more, and the last at which they show as much or less: by looking at every one."""
    around = shown.replace(tzinfo=UTC)
    minutes = [around + minute * MINUTE for minute in range(-26 * 60, 26 * 60)]
    first = next(minute for minute in minutes if local(minute, zone) >= shown)
    last = next(minute for minute in reversed(minutes) if local(minute, zone) <= shown)
    return first, last


class TimeTests(TestCase):
    def zone(self, name):
        if not (FOLDER / name).exists():
            self.skipTest(f"this machine has no time zone {name}: Scripts/setup installs them")
        return zoneinfo.ZoneInfo(name)

    def on_terminal(self, store, *words, **variables):
        """What the program prints on a terminal."""
        child, terminal = pty.fork()
        if child == 0:
            values = environment(NO_COLOR="1", **variables)
            os.execve(BINARY, [BINARY, "--store", store.path, *words], values)
        printed = b""
        while True:
            try:
                piece = os.read(terminal, 65536)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            printed += piece
        os.close(terminal)
        _, status = os.waitpid(child, 0)
        self.assertEqual(os.waitstatus_to_exitcode(status), 0, printed)
        return printed.decode().replace("\r\n", "\n")

    def test_local_times_mean_what_the_clocks_of_the_place_showed(self):
        chance = random.Random(seed())
        store = self.store()
        first, last = datetime.datetime(2010, 1, 1, tzinfo=UTC), datetime.datetime(2028, 1, 1, tzinfo=UTC)
        for name in ZONES:
            zone = self.zone(name)
            env = environment(TZ=name)
            times = [first + datetime.timedelta(minutes=chance.randrange(int((last - first) / MINUTE))) for _ in range(4)]
            found = list(changes(zone, first, last))
            for change in chance.sample(found, min(4, len(found))):
                times += [change + datetime.timedelta(minutes=minutes) for minutes in (-31, 0, 29, 59)]
                # What clocks never showed, where they were put forward.
                times.append((local(change - MINUTE, zone) + 20 * MINUTE).replace(tzinfo=zone).astimezone(UTC))
            shown = {local(time, zone) for time in times}
            shown |= {local(change - MINUTE, zone) + 20 * MINUTE for change in found[:4]}
            for number, when in enumerate(sorted(shown)):
                with self.subTest(zone=name, when=text(when)):
                    begins, ends = bounds(when, zone)
                    event = self.expect(0, store("add", "cities", f"{name} {number}", "--date", text(when), "--json", env=env)).object
                    self.assertEqual(event["favoritedDate"], begins.strftime("%Y-%m-%dT%H:%M:00.000Z"))
                    answer = self.expect(0, store("status", "--at", text(when).replace(" ", "T"), env=env))
                    self.assertEqual(answer.out.splitlines()[0], f"as of {text(ends)} UTC")

    def test_days_begin_and_end_as_the_clocks_of_the_place_have_it(self):
        for name, day in (("Europe/Berlin", "2026-03-29"), ("Europe/Berlin", "2026-10-25"), ("America/New_York", "2026-11-01"),
                          ("Asia/Kolkata", "2026-03-02"), ("Pacific/Apia", "2011-12-29"), ("Pacific/Apia", "2011-12-31"),
                          ("America/Sao_Paulo", "2018-11-04")):  # which begins at one o'clock
            with self.subTest(zone=name, day=day):
                zone = self.zone(name)
                midnight = datetime.datetime.fromisoformat(day)
                begins, _ = bounds(midnight, zone)
                _, ends = bounds(midnight + datetime.timedelta(hours=23, minutes=59), zone)
                store = self.store()
                around = [begins - MINUTE, begins, ends, ends + MINUTE]
                self.expect(0, store.apply([{"op": "add", "library": "cities", "id": str(number), "time": time.strftime("%Y-%m-%dT%H:%M:30Z")}
                                            for number, time in enumerate(around)]))
                env = environment(TZ=name)
                found = store("log", "--since", day, "--until", day, "--json", env=env).lines
                self.assertEqual([event["item"] for event in found], ["1", "2"])
                # The same where the output is a terminal; there the hours are those of the place.
                printed = self.on_terminal(store, "log", "--since", day, "--until", day, TZ=name).splitlines()
                self.assertEqual(printed[0], f"times in {name}")
                self.assertEqual([line[:16] for line in printed[1:]], [text(local(time, zone)) for time in around[1:3]])
                # And the day is one period.
                periods = [line for line in store("stats", "--by", "day", "--json", env=env).lines if line["kind"] == "period"]
                self.assertIn((begins.strftime("%Y-%m-%dT%H:%M:00.000Z"), 2), [(line["start"], line["favorited"]) for line in periods])

    def test_a_day_that_a_place_skipped_has_nothing_in_it(self):
        self.zone("Pacific/Apia")
        store = self.store()
        self.expect(0, store.apply([{"op": "add", "library": "cities", "id": str(hour), "time": f"2011-12-{29 + hour // 24}T{hour % 24:02}:30:00Z"}
                                    for hour in range(48)]))
        env = environment(TZ="Pacific/Apia")
        days = [store("log", "--since", day, "--until", day, "--json", env=env).lines for day in ("2011-12-29", "2011-12-30", "2011-12-31")]
        self.assertEqual([len(events) for events in days], [24, 0, 14])

    def test_a_terminal_shows_local_times_with_the_offset_where_they_are_shown_twice(self):
        chance = random.Random(seed())
        for name in ZONES:
            with self.subTest(name):
                zone = self.zone(name)
                times = []
                for change in changes(zone, datetime.datetime(2009, 1, 1, tzinfo=UTC), datetime.datetime(2027, 1, 1, tzinfo=UTC)):
                    times += [change + datetime.timedelta(minutes=minutes) for minutes in (-61, -31, -1, 0, 29, 59, 61)]
                times += [datetime.datetime(2026, 1 + chance.randrange(12), 15, chance.randrange(24), 7, tzinfo=UTC) for _ in range(5)]
                times = sorted(set(times))
                store = self.store()
                self.expect(0, store.apply([{"op": "add", "library": "cities", "id": str(number), "time": time.strftime("%Y-%m-%dT%H:%M:20Z")}
                                            for number, time in enumerate(times)]))
                expected = []
                for time in times:
                    there = time.astimezone(zone)
                    # It is shown twice where the other one of the two folds is another time.
                    other = there.replace(fold=1 - there.fold)
                    exists = other.astimezone(UTC).astimezone(zone).replace(tzinfo=None) == there.replace(tzinfo=None)
                    isTwice = exists and other.utcoffset() != there.utcoffset()
                    expected.append(text(there) + (there.isoformat()[-6:] if isTwice else ""))
                shown = self.on_terminal(store, "log", TZ=name).splitlines()
                self.assertEqual([line.split("  ")[0] for line in shown], [f"times in {name}"] + expected)
                piped = self.expect(0, store("log", env=environment(TZ=name))).out.splitlines()
                self.assertEqual([line.split("  ")[0] for line in piped], [text(time) for time in times])
                # What is shown names the same minute again.
                for place in chance.sample(range(len(times)), min(6, len(times))):
                    found = store("log", "--since", expected[place], "--until", expected[place], "--json", env=environment(TZ=name)).lines
                    self.assertIn(str(place), [event["item"] for event in found])
                    if "+" in expected[place] or expected[place].count("-") > 2:
                        self.assertEqual([event["time"] for event in found], [times[place].strftime("%Y-%m-%dT%H:%M:20.000Z")])

    def test_words_go_by_the_clock_and_the_zone(self):
        zone = self.zone("Pacific/Apia")
        store = self.store()
        env = environment(TZ="Pacific/Apia")
        number = 0

        def meant(words):
            nonlocal number
            number += 1
            found = self.expect(0, store("add", "cities", str(number), "--date", words, "--json", env=env)).object
            return datetime.datetime.fromisoformat(found.get("favoritedDate", found["time"]).replace("Z", "+00:00"))

        def midnight(days=0):
            now = datetime.datetime.now(zone)
            return (now.replace(hour=0, minute=0, second=0, microsecond=0) + datetime.timedelta(days=days)).astimezone(UTC)

        def ago(**span):
            return datetime.datetime.now(UTC) - datetime.timedelta(**span)

        for words, expected in (("now", ago), ("today", midnight), ("yesterday", lambda: midnight(-1)), ("2 hours ago", lambda: ago(hours=2)),
                                ("90 minutes ago", lambda: ago(minutes=90)), ("1 second ago", lambda: ago(seconds=1)),
                                ("3 days ago", lambda: ago(days=3)), ("2 weeks ago", lambda: ago(weeks=2))):
            with self.subTest(words):
                earliest = expected()
                found = meant(words)
                self.assertLessEqual(earliest - datetime.timedelta(milliseconds=1), found)
                self.assertLessEqual(found, expected())
        self.expect(0, store("remove", "cities", "1"))
        for words in ("now", "today", "0 seconds ago"):
            self.assertEqual(len(store("log", "--until", words, "--json", env=env).lines), number + 1, words)
        self.assertEqual(store("log", "--until", "yesterday", "--json", env=env).lines, [])
        self.assertEqual(len(store("log", "--since", "2 hours ago", "--json", env=env).lines), number + 1)

    def test_a_zone_is_what_tz_names_and_utc_where_it_names_nothing(self):
        zone = self.zone("Europe/Berlin")
        store = self.store()
        self.expect(0, store.apply([{"op": "add", "library": "cities", "id": "1", "time": "2026-07-15T07:00:00Z"}]))
        for value in ("Europe/Berlin", ":Europe/Berlin", str(FOLDER / "Europe/Berlin"), BERLIN_RULE):
            with self.subTest(value):
                name = value if value == BERLIN_RULE else "Europe/Berlin"
                self.assertEqual(self.on_terminal(store, "show", "cities", "1", TZ=value), f"♥ 1  a favorite since 2026-07-15 09:00 {name}\n")
                self.assertEqual(len(store("log", "--until", "2026-07-15 08:59", "--json", env=environment(TZ=value)).lines), 0)
        for value in ("Europe/Nowhere", "", "UTC", "Etc/UTC", "UTC0", "../../../etc/passwd", "/etc/passwd", "/dev/zero", str(FOLDER)):
            with self.subTest(value):
                self.assertEqual(self.on_terminal(store, "show", "cities", "1", TZ=value), "♥ 1  a favorite since 2026-07-15 07:00\n")
                self.assertEqual(len(store("log", "--until", "2026-07-15 06:59", "--json", env=environment(TZ=value)).lines), 0)
                self.assertEqual(len(store("log", "--since", "2026-07-15 07:00", "--json", env=environment(TZ=value)).lines), 1)
        # A zone of somebody's own, in a folder of zones.
        folder = self.folder / "zones"
        folder.mkdir()
        (folder / "Home").write_bytes((FOLDER / "Asia/Kolkata").read_bytes())
        self.assertEqual(self.on_terminal(store, "show", "cities", "1", TZ="Home", TZDIR=str(folder)), "♥ 1  a favorite since 2026-07-15 12:30 Home\n")

    def test_far_times_are_shown_in_every_zone(self):
        store = self.store()
        far = ["0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z", "1890-01-01T00:00:00Z", "2999-07-01T12:00:00Z"]
        self.expect(0, store.apply([{"op": "add", "library": "cities", "id": str(number), "favoritedDate": date} for number, date in enumerate(far)]))
        for name in ("Pacific/Apia", "America/New_York"):
            self.zone(name)
            self.assertEqual(len(self.on_terminal(store, "list", "cities", TZ=name).splitlines()), 5)
            self.expect(0, store("log", "--since", "0001-01-01", "--until", "9999-12-30", env=environment(TZ=name)))
            for date in ("0000-01-01", "9999-12-31"):
                self.assertIn(store("log", "--since", date, env=environment(TZ=name)).code, (0, 64))


if __name__ == "__main__":
    unittest.main()
