import json

from automerge import core

NAMES = "items", "favorites", "positions"


class Peer:
    """Its library for Python takes no times of changes; a date of 0 stands for none."""

    version = "1.0.0rc1"

    def new(self):
        document = core.Document(b"\1" * 16)
        with document.transaction() as transaction:
            for name in NAMES:
                transaction.put_object(core.ROOT, name, core.ObjType.Map)
        return document

    def map(self, document, name):
        return document.get(core.ROOT, name)[1]

    def write(self, document, time, name, key, value, item):
        with document.transaction() as transaction:
            if item:
                transaction.put(self.map(document, "items"), key, core.ScalarType.Str, item)
            if name == "positions":
                transaction.put(self.map(document, name), key, core.ScalarType.F64, value)
            else:
                transaction.put(self.map(document, name), key, core.ScalarType.Int, value or 0)

    def save(self, document):
        return document.save()

    def load(self, data):
        return core.Document.load(data)

    def query(self, document):
        """All of the state, key by key; returns how many favorites there are."""
        count = 0
        for name in NAMES:
            place = self.map(document, name)
            for key in document.keys(place):
                (_, value), _ = document.get(place, key)
                count += name == "favorites" and value != 0
        return count

    def moment(self, document):
        return json.dumps([head.hex() for head in document.get_heads()]).encode()

    def favorites_at(self, document, moment):
        heads = [bytes.fromhex(head) for head in json.loads(moment)]
        place, count = self.map(document, "favorites"), 0
        for key in document.keys(place, heads):
            (_, value), _ = document.get(place, key, heads)
            count += value != 0
        return count

    def come_back(self, document):
        pass
