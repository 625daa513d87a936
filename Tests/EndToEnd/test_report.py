"""The evidence report says what the command line says, is safe to open whatever was favorited, and can be read by everybody."""

import os
import random
import re
import stat
import unittest

import chromium
from heartlog import FORTNIGHT, run, seed
from hostile import Hostile
from page import Page, contrast, contrast_problems, problems, schemes
from test_sync import SyncTestCase

# What an app that shows an item's title as HTML would run.
ATTACK = """<script>alert(1)</script><img src=x onerror=alert(2)>"'><svg onload=alert(3)>&lt;\u202etxt.exe\u2066</td></table>"""


class ReportTestCase(SyncTestCase):
    def fortnight(self):
        """A phone that has synced with a tablet."""
        phone, tablet = self.store("Anna's phone"), self.store("Anna's tablet")
        for store in (phone, tablet):
            name = store is phone and "phone" or "tablet"
            self.expect(0, store.apply((FORTNIGHT / f"{name}.jsonl").read_bytes()))
        self.sync(phone, self.serving(tablet))
        return phone

    def report(self, store, *options, code=0):
        answer = self.expect(code, store("report", *options))
        return answer.out

    def checked(self, text):
        """The page, after everything that holds of every page was checked."""
        page = Page(text)
        self.assertEqual(problems(page), [])
        self.assertEqual(contrast_problems(page), [])
        self.assertEqual(re.findall(r"(?i)@import|url\((?!#)|https?:", page.all("style")[0].text), [])
        return page


    def hostile(self):
        store = self.store(ATTACK[:200])
        chance = random.Random(seed())
        hostile = Hostile(chance)
        self.expect(0, store.apply([
            {"op": "add", "library": "papers", "id": text, "fields": {"title": text}} for text in
            [ATTACK, *hostile.ids] if not re.search(r"[\x00-\x1f\x7f-\x9f]", text)]))
        self.expect(0, store("set", "papers", "a", f"title={ATTACK}", f"{ATTACK[:200]}=x"))
        return store


class FigureTests(ReportTestCase):
    def check_figures(self, store, *at):
        """Compares a report with what the commands print; both as of the same moment."""
        page = self.checked(self.report(store, *at))

        def lines(*words, at=at):
            return self.expect(0, store(*words, "--json", *at)).lines

        status = lines("status")[0]
        identity = dict(zip((node.text for node in page.section("identity").all("dt")), page.section("identity").all("dd")))
        self.assertEqual(identity["Store"].text, status["store"])
        self.assertEqual(identity["Digest"].text, status["digest"])
        self.assertEqual(identity["This device"].text, f"{status['name']} {status['replica']}")
        self.assertEqual([int(node["value"]) for node in identity["Events"].all("data")], [status["events"], status["commits"]])
        self.assertEqual(
            [row[:4] for row in page.table("The devices")],
            [[replica["name"], replica["id"], replica["head"], replica["events"]] for replica in status["replicas"]])
        self.assertEqual(
            page.table("The libraries"),
            [[library[key] for key in ("name", "favorites", "items", "events")] for library in status["libraries"]])

        replicas = lines("devices", at=())
        self.assertEqual([row[2] for row in page.table("The key")],
                         [replica["signature"]["commits"] if replica["signature"] else 0 for replica in replicas])
        for row, replica in zip(page.table("The key"), replicas):
            if replica["signature"]:
                self.assertIn(replica["signature"]["fingerprint"], row[1].replace(" ", ""))
                for witness in replica["signature"]["witnesses"]:
                    self.assertIn(witness[:8], row[3])

        # The periods, by library and together.
        rows = page.table("Events by day and library")
        for library in [None] + [library["name"] for library in status["libraries"]]:
            periods = [line for line in lines("stats", *([library] if library else []), "--by", "day") if line["kind"] == "period"]
            self.assertEqual(
                [row[:1] + row[2:] for row in rows if row[1] == (library or "all libraries")],
                [[period["start"][:10], period["favorited"], period["unfavorited"], period["changed"], period["favoritesAtEnd"]]
                 for period in periods])
        sources = [line for line in lines("stats") if line["kind"] == "source"]
        self.assertEqual(page.table("Events by device and origin"),
                         [[f"{line['replica'][:8]} {line['name']}", line.get("origin", "(none)"), line["events"]] for line in sources])

        for heading in page.section("favorites").all("h3"):
            table = next(node for node in heading.parent.children[heading.parent.children.index(heading):]
                         if not isinstance(node, str) and node.name == "table")
            listed = [row.children[0].text for row in next(table.all("tbody")).all("tr")]
            favorites = lines("list", heading.text)
            self.assertEqual(listed, [item["id"] for item in favorites][:100])
            self.assertEqual([node["datetime"] for node in table.all("time")], [item["favoritedDate"] for item in favorites][:100])
            self.assertIn(str(len(favorites)), next(table.all("caption")).text)

        conflicts = lines("conflicts")
        sides = [] if not conflicts else [row for row in page.table(f"All {len(conflicts)} open conflict", page.section("conflicts"))]
        self.assertEqual(
            [(row[0], row[2], row[4].split()[0], int(row[4].rsplit(" ", 1)[1]), row[5].rsplit(" ", 1)[1]) for row in sides],
            [(f"{conflict['library']} {conflict['id']}", "shown" if write["isShown"] else "other", write["replica"][:8],
              write["sequence"], write["stamp"]) for conflict in conflicts for write in conflict["writes"]])

        streams = [line for line in lines("verify", at=()) if "root" in line]
        self.assertEqual(
            [[row[1], *row[2:6], row[7]] for row in page.table("The streams")],
            [["sound", line["commits"], line["events"], line["signedCommits"], line["commits"] - line["signedCommits"], line["root"]]
             for line in streams])
        return page

    def test_the_figures_are_those_of_the_command_line(self):
        phone = self.fortnight()
        page = self.check_figures(phone)
        self.assertGreater(len(page.table("Events by day and library")), 20)
        self.assertGreater(len(list(page.section("conflicts").all("tbody"))), 10)
        text = page.section("meaning").text
        self.assertIn("Nobody has confirmed the key", text)
        for word in ("Freshness", "honest clock", "Copies elsewhere"):
            self.assertIn(word, text)
        # A later commit is not signed yet, and a compared key is confirmed.
        self.expect(0, phone("add", "papers", "2606.00001v1"))
        other = next(line["id"] for line in self.expect(0, phone("devices", "--json")).lines if not line["isOwn"])
        self.expect(0, phone("devices", "trust", other))
        text = self.check_figures(phone).section("meaning").text
        self.assertNotIn("Nobody has confirmed the key", text)
        self.assertIn("The 1 commit after that is not signed yet", text)

    def test_the_figures_of_a_moment_are_those_of_the_command_line_then(self):
        phone = self.fortnight()
        self.expect(0, phone("compact"))
        for moment in ("2026-03-05", "2026-03-09T12:00:00Z", "1999-01-01"):
            with self.subTest(moment):
                text = self.report(phone, "--at", moment)
                self.assertIn("as of", text)
                if moment != "1999-01-01":
                    self.check_figures(phone, "--at", moment)
                else:
                    self.assertIn("There are no events.", self.checked(text).section("activity").text)

    def test_long_lists_are_cut_and_say_so(self):
        store = self.store()
        self.expect(0, store.apply([{"op": "add", "library": f"l{number % 25}", "id": str(number),
                                     "time": "20%02d-%02d-01T00:00:00Z" % (number // 12 % 40 + 10, number % 12 + 1)} for number in range(3000)]))
        page = self.checked(self.report(store))
        self.assertIn("The newest 100 of 120 favorites", page.section("favorites").text)
        self.assertIn("The favorites of 5 more libraries are not listed", page.section("favorites").text)
        self.assertIn("earlier months with events", page.section("activity").text)
        self.assertIn("17 libraries with fewer events", page.section("activity").text)

    def test_an_empty_store_has_a_report(self):
        self.checked(self.report(self.store()))


class SafetyTests(ReportTestCase):
    def test_what_was_favorited_is_text(self):
        text = self.report(self.hostile())
        page = self.checked(text)
        shown = ATTACK.replace("\u202e", "\ufffd").replace("\u2066", "\ufffd")
        self.assertIn(shown, [node.text for node in page.section("favorites").all("bdi")])
        self.assertNotRegex(text, "[\u202a-\u202e\u2066-\u2069\u2028\u2029]")
        self.assertEqual({node.name for node in page.all()} & {"script", "img"}, set())

    def test_the_same_store_gives_the_same_page(self):
        store = self.fortnight()
        made = re.compile("Made on <time[^>]*>[^<]*</time>")
        first, second = (self.report(store) for _ in range(2))
        self.assertEqual(len(made.findall(first)), 1)
        self.assertEqual(made.sub("", first), made.sub("", second))
        elsewhere = run("--store", store.path, "report", env=os.environ | {"TZ": "Asia/Tokyo"}).out
        self.assertEqual(made.sub("", first), made.sub("", elsewhere))

    def test_the_file_is_replaced_and_keeps_its_mode(self):
        store = self.fortnight()
        path = self.folder / "report.html"
        self.assertEqual(self.expect(0, store("report", "-o", str(path))).out, "")
        path.chmod(0o640)
        self.expect(0, store("report", "--output", str(path), "--at", "2026-03-05"))
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o640)
        self.assertIn("as of the end of 2026-03-05 UTC", path.read_text())
        self.expect(73, store("report", "-o", str(self.folder / "none" / "report.html")))

    def test_damage_is_in_the_report(self):
        store = self.fortnight()
        segment = store.segments()[0]
        content = bytearray(segment.read_bytes())
        content[3000] ^= 1
        segment.write_bytes(content)
        text = self.report(store, code=65)
        page = self.checked(text)
        self.assertIn("damaged", [row[1] for row in page.table("The streams")])
        self.assertIn("Damaged: ", page.section("meaning").text)


@unittest.skipUnless(chromium.PROGRAM, "Chromium is not installed")
class BrowserTests(ReportTestCase):
    # Each text with the color of the first ground behind it.
    PAIRS = """
      (() => {
        const hex = color => '#' + color.match(/[\\d.]+/g).slice(0, 3).map(n => (+n).toString(16).padStart(2, '0')).join('');
        const pairs = new Set();
        const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        while (walker.nextNode()) {
          let node = walker.currentNode.parentElement;
          if (!walker.currentNode.data.trim() || node.closest('desc, title, style')) continue;
          const style = getComputedStyle(node);
          const ink = node.namespaceURI.endsWith('svg') ? style.fill : style.color;
          while (node && getComputedStyle(node).backgroundColor === 'rgba(0, 0, 0, 0)') node = node.parentElement;
          pairs.add(hex(ink) + ' ' + hex(node ? getComputedStyle(node).backgroundColor : 'rgb(255, 255, 255)'));
        }
        return [...pairs];
      })()"""

    def opened(self, browser, store):
        path = self.folder / "report.html"
        self.expect(0, store("report", "-o", str(path)))
        browser.open(path)
        return path

    def check_quiet(self, browser, path):
        self.assertEqual(browser.messages(), [])
        self.assertEqual(browser.requests(), [f"file://{path}"])

    def test_the_browser_tells_of_messages_and_requests(self):
        path = self.folder / "loud.html"
        path.write_text("<!DOCTYPE html><title>x</title><script>console.log(1)</script><img src=none.png>")
        with chromium.Chromium() as browser:
            browser.open(path)
            self.assertEqual(browser.requests(), [f"file://{path}", f"file://{self.folder}/none.png"])
            self.assertIn("Runtime.consoleAPICalled", [event["method"] for event in browser.messages()])

    def test_a_browser_runs_nothing_and_loads_nothing(self):
        with chromium.Chromium() as browser:
            path = self.opened(browser, self.hostile())
            self.assertEqual(browser.evaluate("document.scripts.length + document.images.length"), 0)
            self.assertEqual(browser.evaluate("document.compatMode"), "CSS1Compat")
            self.check_quiet(browser, path)

    def test_every_text_can_be_read_in_light_in_dark_and_on_paper(self):
        with chromium.Chromium() as browser:
            path = self.opened(browser, self.fortnight())
            seen = []
            for scheme, medium in (("light", ""), ("dark", ""), ("dark", "print")):
                browser.emulate(scheme, medium)
                pairs = [pair.split() for pair in browser.evaluate(self.PAIRS)]
                self.assertGreater(len(pairs), 3)
                for ink, ground in pairs:
                    self.assertGreaterEqual(contrast(ink, ground), 4.5, f"{ink} on {ground} in {scheme} {medium}")
                seen.append({ground for _, ground in pairs})
            colors = schemes(Page(path.read_text()))
            for grounds, scheme in zip(seen, colors):
                self.assertIn(scheme["paper"], grounds)
            self.check_quiet(browser, path)

    def test_nothing_is_wider_than_a_narrow_window_or_the_paper(self):
        with chromium.Chromium() as browser:
            path = self.opened(browser, self.hostile())
            browser.call("Emulation.setDeviceMetricsOverride", width=640, height=900, deviceScaleFactor=1, mobile=False)
            self.assertLessEqual(browser.evaluate("document.documentElement.scrollWidth"), 640)
            paper = browser.printed()
            self.assertIn(b"%PDF", paper[:8])
            # A4 in points.
            for box in re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", paper):
                self.assertAlmostEqual(float(box[0]), 595.3, delta=1)
                self.assertAlmostEqual(float(box[1]), 841.9, delta=1)
            self.check_quiet(browser, path)

    def test_a_screen_reader_meets_landmarks_headings_and_the_chart(self):
        with chromium.Chromium() as browser:
            self.opened(browser, self.fortnight())
            nodes = browser.call("Accessibility.getFullAXTree")["nodes"]
            roles = [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if not node["ignored"]]
            for role in ("banner", "navigation", "main", "contentinfo"):
                self.assertEqual([found for found, _ in roles].count(role), 1, role)
            charts = [name for role, name in roles if role in ("image", "img", "graphics-document")]
            self.assertEqual(len(charts), 1)
            self.assertIn("Events by library and day", charts[0])
            regions = [name for role, name in roles if role == "region"]
            self.assertIn("Devices and keys", regions)
            self.assertTrue(all(regions))


if __name__ == "__main__":
    unittest.main()
