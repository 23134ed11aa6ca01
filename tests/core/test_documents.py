"""Documents: every mistake has a place and, where one can be guessed, the word that was meant."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

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
