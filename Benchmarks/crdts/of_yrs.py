import pycrdt

NAMES = "items", "favorites", "positions"


class Peer:
    """Without its garbage collection, which would forget the past; it keeps no times."""

    version = "0.14.13"

    def new(self):
        document = pycrdt.Doc(client_id=1, skip_gc=True)
        document.maps = self.maps(document)
        return document

    def maps(self, document):
        return {name: document.get(name, type=pycrdt.Map) for name in NAMES}

    def write(self, document, time, name, key, value, item):
        with document.transaction():
            if item:
                document.maps["items"][key] = item
            document.maps[name][key] = value

    def save(self, document):
        return document.get_update()

    def load(self, data):
        document = pycrdt.Doc(skip_gc=True)
        document.apply_update(data)
        return document

    def query(self, document):
        """All of the state, as values of Python; returns how many favorites there are."""
        state = {name: one.to_py() for name, one in self.maps(document).items()}
        return sum(value is not None for value in state["favorites"].values())

    def moment(self, document):
        return pycrdt.Snapshot.from_doc(document).encode()

    def favorites_at(self, document, moment):
        past = pycrdt.Doc.from_snapshot(pycrdt.Snapshot.decode(moment), document)
        values = past.get("favorites", type=pycrdt.Map).to_py().values()
        return sum(value is not None for value in values)

    def come_back(self, document):
        pass
