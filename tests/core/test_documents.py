"""Documents: every mistake has a place and, where one can be guessed, the word that was meant."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from trueup.core import documents
from trueup.core.documents import Document
from trueup.core.errors import InputError


class Wheel(Struct):
    name: str
    size: int = 1


class Cart(Struct):
    wheels: list[Wheel]
    labels: dict[str, str] = {}


def decode(text: str | bytes, name: str = "cart.yaml") -> Cart:
    raw = text.encode() if isinstance(text, str) else text
    return Document.parse(raw, source=name, is_json=name.endswith(".json")).decode(Cart)


def test_yaml_and_json_decode_to_the_same():
    yaml_cart = decode("wheels:\n- name: left\n  size: 2\n")
    assert yaml_cart == decode('{"wheels": [{"name": "left", "size": 2}]}', "cart.json")


def complaint(text: str | bytes, name: str = "cart.yaml") -> str:
    with pytest.raises(InputError) as caught:
        decode(text, name)
    return str(caught.value)


def test_an_unknown_key_is_placed_and_the_nearest_one_named():
    assert (
        complaint("wheels:\n  - name: left\n    siez: 2\n")
        == "cart.yaml:3:5: unknown key 'siez' in wheels[0] ('left'); did you mean 'size'?"
    )


def test_an_unknown_key_that_resembles_nothing_gets_the_list():
    assert complaint("wheels: []\nzzz: 1\n").endswith("unknown key 'zzz'; known keys: labels, wheels")


def test_every_unknown_key_is_told_at_once():
    assert complaint("weels: []\nlables: {}\n").count("unknown key") == 2


def test_a_wrong_type_is_placed_in_json_too_with_tabs_in_it():
    text = '{\n\t"wheels": [\n\t\t{"name": "left", "size": "big"}\n\t]\n}'
    assert complaint(text, "cart.json") == "cart.json:3:28: expected 'int', got 'str' in wheels[0].size ('left')"


def test_a_bare_word_that_yaml_takes_for_something_else_gets_a_hint():
    assert complaint("wheels:\n- name: on\n").startswith("cart.yaml:2:9: expected 'str', got 'bool' (put it in quotes)")


def test_a_missing_key_is_placed_at_its_object():
    assert complaint("wheels:\n  - size: 2\n") == "cart.yaml:2:5: missing required key 'name' in wheels[0]"


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("wheels: [\n", "cart.yaml", "cart.yaml:2:1: not valid YAML"),
        ("wheels:\n\t- x", "cart.yaml", "cart.yaml:2:1: not valid YAML"),
        ('{"wheels": [}', "cart.json", "cart.json:1:13: not valid JSON"),
        ('{"wheels": [],\n"wheels": []}', "cart.json", "cart.json:2:1: key 'wheels' appears twice"),
        ('{"<<": [], "<<": []}', "cart.json", "cart.json: key '<<' appears twice in one object"),
        ('{"wheels": ' + "1" * 5000 + "}", "cart.json", "cart.json: not valid JSON: a number has too many digits"),
        ("wheels: " + "1" * 5000, "cart.yaml", f"cart.yaml:1:9: not valid YAML: '{'1' * 40}' cannot be read as int"),
        ('wheels: !!int ""', "cart.yaml", "cart.yaml:1:9: not valid YAML: '' cannot be read as int"),
        ('wheels: !!float ""', "cart.yaml", "cart.yaml:1:9: not valid YAML: '' cannot be read as float"),
        ("wheels: !!bool x", "cart.yaml", "cart.yaml:1:9: not valid YAML: 'x' cannot be read as bool"),
        ("wheels: !!timestamp foo", "cart.yaml", "cart.yaml:1:9: not valid YAML: 'foo' cannot be read as timestamp"),
        ("wheels: 2026-99-01", "cart.yaml", "cart.yaml:1:9: not valid YAML: '2026-99-01' cannot be read as timestamp"),
        ('{"wheels":\n["\\ud800"]}', "cart.json", "cart.json:2:2: half of a surrogate pair"),
        ('wheels: ["\\ud800"]', "cart.yaml", "cart.yaml:1:10: half of a surrogate pair"),
        ('{"\\udfff": 1}', "cart.json", "half of a surrogate pair"),
        ("wheels: []\nwheels: []", "cart.yaml", "cart.yaml:2:1: key 'wheels' appears twice"),
        (b"wheels: \xff", "cart.yaml", "cart.yaml:1: not UTF-8 text (byte 0xff)"),
        ("", "cart.yaml", "expected 'object', got 'null'"),
        ("[" * 100_000, "cart.json", "nested too deeply"),
        ("[" * 2_000, "cart.yaml", "nested too deeply"),
        ("a: &a [x, x, x, x, x, x, x, x, x, x]\n"
         + "".join(f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join(['*' + chr(97 + n)] * 10)}]\n" for n in range(8)),
         "cart.yaml", "more than 100000 values"),
        ("a: &a [*a]", "cart.yaml", "more than 100000 values"),
        ("wheels: !!python/object/apply:os.system ['true']", "cart.yaml", "not valid YAML"),
        (b"x" * (2 << 20), "cart.yaml", "larger than 1 MiB"),
    ],
)  # fmt: skip
def test_a_malformed_file_gets_one_clear_sentence(text, name, message):
    assert message in complaint(text, name)


def test_a_missing_file_and_a_folder_are_told_apart(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        Document.read(tmp_path / "none.yaml")
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        Document.read(tmp_path)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "cart.yaml")
    with pytest.raises(InputError, match="cart.yaml: is not a regular file; a pipe can be read as stdin"):
        Document.read(tmp_path / "cart.yaml")


def test_a_whole_character_in_two_escapes_is_one():
    assert decode('{"wheels": [{"name": "\\ud83d\\ude42"}]}', "cart.json").wheels[0].name == "🙂"


def test_of_many_unknown_keys_the_first_are_told_and_the_others_counted():
    told = complaint("wheels: []\n" + "".join(f"key{n}: 1\n" for n in range(2_000))).splitlines()
    assert (len(told), told[-1]) == (21, "cart.yaml: 1980 more unknown keys")


@given(st.binary(max_size=200), st.sampled_from(["cart.yaml", "cart.json"]))
def test_whatever_the_bytes_there_is_a_result_or_a_sentence(raw, name):
    try:
        decode(raw, name)
    except InputError as error:
        assert str(error).startswith(Path(name).name)


class Square(Struct, tag_field="type", tag="square"):
    side: int
    name: str | None = None


class Circle(Struct, tag_field="type", tag="circle"):
    radius: int
    fill: Literal["solid", "dotted"] = "solid"


class Note(Struct):
    text: str
    level: int = 0


class Drawing(Struct):
    shapes: list[Square | Circle] = []
    frame: Square | None = None
    note: str | Note | list[str | Note] | None = None
    notes: dict[str, int | Note] = {}


class Box(Struct, forbid_unknown_fields=True):
    side: int = 1


class Shelf(Struct, forbid_unknown_fields=True):
    boxes: list[Box]


def drawn(text: str) -> Drawing:
    return Document.parse(text.encode(), source="d.yaml", is_json=False).decode(Drawing)


def test_a_tag_decides_which_variant_a_value_is():
    drawing = drawn("shapes: [{type: circle, radius: 1}]\nframe: {type: square, side: 2}\nnote: [a, {text: b}]\n")
    assert drawing == Drawing([Circle(1)], Square(2), ["a", Note("b")])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("shapes:\n- {type: circle, radius: 1}\n- type: square\n  name: s\n  sied: 1\n",
         "d.yaml:5:3: unknown key 'sied' in shapes[1] ('s'); did you mean 'side'?"),
        ("shapes:\n- type: circle\n  side: 1\n", "d.yaml:3:3: unknown key 'side' in shapes[0]; known keys: fill, radius, type"),
        ("shapes:\n- type: cirle\n  radus: 1\n", "d.yaml:2:9: unknown type 'cirle' in shapes[0]; did you mean 'circle'? known: circle, square"),
        ("shapes: [{type: 'x - at y'}]", "d.yaml:1:17: unknown type 'x - at y' in shapes[0]; known: circle, square"),
        ("shapes:\n- radius: 1\n", "d.yaml:2:3: missing required key 'type' in shapes[0]; one of: circle, square"),
        ("shapes:\n- type: 3\n", "d.yaml:2:9: expected 'str', got 'int' (put it in quotes) in shapes[0].type; one of: circle, square"),
        ("shapes:\n- type: circle\n", "d.yaml:2:3: missing required key 'radius' in shapes[0]"),
        ("shapes:\n- type: circle\n  radius: 1\n  fill: dashed\n",
         "d.yaml:4:9: Invalid enum value 'dashed' in shapes[0].fill; one of: dotted, solid"),
        ("shapes:\n- type: circle\n  radius: 1\n  fill: 'a - at b'\n",
         "d.yaml:4:9: Invalid enum value 'a - at b' in shapes[0].fill; one of: dotted, solid"),
        ("frame:\n  type: sqare\n", "d.yaml:2:9: unknown type 'sqare' in frame; did you mean 'square'? known: square"),
        ("note: {txet: b}", "d.yaml:1:8: unknown key 'txet' in note; did you mean 'text'?"),
        ("note:\n- a\n- text: b\n  levle: 1\n", "d.yaml:4:3: unknown key 'levle' in note[1]; did you mean 'level'?"),
        ("note:\n- a\n- level: 1\n", "d.yaml:3:3: missing required key 'text' in note[1]"),
        ("note: 3", "d.yaml:1:7: expected 'str | object | array | null', got 'int' (put it in quotes) in note"),
        ("notes:\n  a: 1\n  b: {text: x}\n  c: {text: x, lvel: 1}\n", "d.yaml:4:16: unknown key 'lvel' in notes.c; did you mean 'level'?"),
        ("notes:\n  a: 1\n  b: word\n  c: 3\n", "d.yaml:3:6: expected 'int | object', got 'str' in notes.b"),
        ("notes:\n  a: 1\n  c: {text: x}\n  b:\n    text: x\n    level: high\n",
         "d.yaml:6:12: expected 'int', got 'str' in notes.b.level"),
        ("notes:\n  a: 1\n  2: 3\n", "d.yaml:2:3: expected 'str', got 'int' (put it in quotes) in notes"),
        ("3", "d.yaml:1:1: expected 'object', got 'int'"),
    ],
)  # fmt: skip
def test_a_mistake_inside_a_variant_is_told_in_the_words_of_that_variant(text, message):
    with pytest.raises(InputError) as caught:
        drawn(text)
    assert str(caught.value) == message


def test_a_type_that_refuses_unknown_keys_by_itself_gets_the_same_advice():
    document = Document.parse(b"boxes: [{sied: 1}]", source="d.yaml", is_json=False)
    with pytest.raises(InputError, match=r"d\.yaml:1:10: unknown key 'sied' in boxes\[0\]; did you mean 'side'\?"):
        document.decode(Shelf)


def test_in_a_mapping_of_thousands_the_entry_that_is_wrong_is_found_quickly():
    entries = "".join(f"  k{n}: {n}\n" for n in range(5_000))
    with pytest.raises(InputError, match=r"d\.yaml:4002:10: expected 'int \| object', got 'str' in notes\.wrong"):
        drawn("notes:\n" + entries.replace("k4000: 4000", "wrong: x"))


# Without `!`, which alone means an empty text to libyaml and nothing to Python's parser.
PLAUSIBLE = st.text("ab:-[]{}, \n\t#'\"&*|>?é1.", max_size=40)


@given(PLAUSIBLE)
def test_what_the_parser_that_explains_itself_reads_the_quick_one_reads_alike(text):
    try:
        expected = documents._parse_faulty_yaml(text, "d.yaml").data
    except (InputError, RecursionError):
        return
    assert repr(documents._parse_yaml(text, "d.yaml").data) == repr(expected)
