import loro

NAMES = "items", "favorites", "positions"


class Peer:
    """A change has a time in seconds; those of one device within 1,000 seconds are one change."""

    version = "1.17.1"

    def new(self):
        document = loro.LoroDoc()
        document.peer_id = 1
        self.maps = {name: document.get_map(name) for name in NAMES}
        return document

    def write(self, document, time, name, key, value, item):
        if item:
            self.maps["items"].insert(key, item)
        self.maps[name].insert(key, value)
        document.commit_with(timestamp=time // 1000)

    def save(self, document):
        return document.export(loro.ExportMode.Snapshot())

    def load(self, data):
        document = loro.LoroDoc()
        document.import_(data)
        return document

    def query(self, document):
        """All of the state, as values of Python; returns how many favorites there are."""
        state = document.get_deep_value()
        return sum(value is not None for value in state["favorites"].values())

    def moment(self, document):
        return document.oplog_frontiers.encode()

    def favorites_at(self, document, moment):
        document.checkout(loro.Frontiers.decode(moment))
        values = document.get_map("favorites").get_deep_value().values()
        return sum(value is not None for value in values)

    def come_back(self, document):
        document.checkout_to_latest()
