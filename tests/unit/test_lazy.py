"""A property that is computed once."""

from gatewall.engine.values import lazy


class Thing:
    def __init__(self):
        self.asked = 0

    @lazy
    def answer(self):
        """What it is."""
        self.asked += 1
        return self.asked * 42


def test_a_lazy_property_is_computed_once_on_first_access():
    thing = Thing()

    assert thing.asked == 0
    assert [thing.answer, thing.answer] == [42, 42]
    assert thing.asked == 1


def test_each_object_has_its_own():
    one, other = Thing(), Thing()
    one.answer  # noqa: B018 - looked up

    assert (one.asked, other.asked) == (1, 0)


def test_the_class_attribute_is_the_property_with_its_docstring():
    assert isinstance(Thing.answer, lazy)
    assert Thing.answer.__doc__ == "What it is."
