"""A patch as a page shows it."""

from __future__ import annotations

from trueup.web._diff import MOST_LINES_OF_A_FILE, parse, read_patch

PATCH = rb"""diff --git a/slug.py b/slug.py
index 111..222 100644
--- a/slug.py
+++ b/slug.py
@@ -1,4 +1,4 @@
 def slug(text):
-    return text.replace(' ', '_')
+    return text.replace(' ', '-')  # <b>

 x = 1
@@ -10 +10,2 @@ def words
--- x
+++ y
+diff --git a/no b/no
\ No newline at end of file
diff --git "a/caf\303\251 \"x\".txt" "b/caf\303\251 \"x\".txt"
new file mode 100644
--- /dev/null
+++ "b/caf\303\251 \"x\".txt"
@@ -0,0 +1 @@
+hello
diff --git a/old name.bin b/old name.bin
deleted file mode 100644
GIT binary patch
literal 0
HcmV?d00001

diff --git a/one.py b/two.py
similarity index 100%
rename from one.py
rename to two.py
"""


def test_a_patch_is_read_by_file_with_the_numbers_of_its_lines():
    patch = parse(PATCH.replace(b"# <b>\n\n", b"# <b>\n \n"))
    assert [file.name for file in patch.files] == ["slug.py", 'café "x".txt', "old name.bin", "two.py"]
    slug, new, binary, renamed = patch.files
    assert [(line.kind, line.number) for line in slug.lines] == [
        ("hunk", None),
        ("same", 1),
        ("gone", 2),
        ("add", 2),
        ("same", 3),
        ("same", 4),
        ("hunk", None),
        ("gone", 10),
        ("add", 10),
        ("add", 11),
    ]
    assert [line.text for line in slug.lines[-3:]] == ["-- x", "++ y", "diff --git a/no b/no"]
    assert (slug.added, slug.removed, new.notes, binary.notes) == (
        3,
        2,
        ["new file mode 100644"],
        ["deleted file mode 100644", "binary"],
    )
    assert "rename from one.py" in renamed.notes
    assert (patch.is_whole, patch.total_bytes) == (True, len(PATCH) + 1)


async def test_lines_are_coloured_by_the_language_of_their_file_and_escaped():
    slug, plain, *_ = (await read_patch(PATCH)).files
    assert '<span class="k">def </span><span class="n">slug</span>(text):' in slug.html
    assert '<span class="c"># &lt;b&gt;</span>' in slug.html
    assert 'id="file-1-2" data-number="2"' in slug.html
    assert slug.html.count('id="file-1-2"') == 1, "a line that is gone is no place to link to"
    assert ">hello\n" in plain.html


async def test_a_finding_leads_to_its_line_or_to_its_file():
    patch = await read_patch(PATCH)
    assert patch.place("slug.py", 2) == "file-1-2"
    assert patch.place("slug.py", 999) == "file-1"
    assert patch.place("other.py", 2) is None
    assert patch.place(None, None) is None


async def test_a_large_patch_is_cut_and_says_so():
    lines = MOST_LINES_OF_A_FILE + 500
    head = b"diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -0,0 +1,%d @@\n" % lines
    patch = await read_patch(head + b"+line\n" * lines)
    [file] = patch.files
    assert (patch.is_whole, len(file.lines), file.cut) == (False, MOST_LINES_OF_A_FILE, 501)
    huge = await read_patch(head + b"+" + b"x" * 5_000_000)
    assert not huge.is_whole
    assert len(huge.files[0].html) < 500_000


async def test_what_turns_the_direction_of_writing_is_seen():
    patch = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -0,0 +1 @@\n+x = 1 \u202e# \x1b[2J\r\n".encode()
    [file] = (await read_patch(patch)).files
    assert "\\u202e# \\x1b[2J\\r" in file.html
