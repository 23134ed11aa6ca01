"""Rust, Go, the JVM, and CMake: ecosystems whose commands hardly depend on the project."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from .found import Ecosystem, Finds, Found, Purpose, Setup, matches_any, strings, table
from .package import Package

_COMPILE_AND_TEST_SECS = 900
_GRADLE_FILES = ("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts")


def find_cargo(package: Package) -> Finds:
    """`cargo test`, over the whole workspace where there is one."""
    if not package.exists("Cargo.toml"):
        return
    manifest, locked = package.label("Cargo.toml"), package.exists("Cargo.lock")
    yield Setup(
        tool="cargo",
        command="cargo fetch --locked" if locked else "cargo fetch",
        reason=f"{manifest} is there",
        inputs=tuple(package.existing("Cargo.toml", "Cargo.lock", "rust-toolchain.toml", "rust-toolchain")),
    )
    is_workspace = "workspace" in package.toml("Cargo.toml")
    if style := package.first("rustfmt.toml", ".rustfmt.toml"):
        reason = f"{package.label(style)} configures rustfmt"
        yield _check(Purpose.FORMAT, "cargo fmt --all --check", reason, "cargo fmt")
    if clippy := package.first("clippy.toml", ".clippy.toml"):
        reason = f"{package.label(clippy)} configures clippy"
        yield _check(Purpose.LINT, "cargo clippy --all-targets", reason, "cargo clippy", timeout_secs=300)
    yield _check(
        Purpose.TESTS,
        "cargo test --workspace" if is_workspace else "cargo test",
        f"{manifest} has [workspace]" if is_workspace else f"{manifest} is there",
        "cargo test",
        timeout_secs=_COMPILE_AND_TEST_SECS,
    )


def covers_cargo(package: Package, member: Package) -> bool:
    """Cargo counts every package below a workspace as a member, except the excluded ones."""
    manifest = package.toml("Cargo.toml")
    excluded = strings(table(manifest, "workspace").get("exclude"))
    return "workspace" in manifest and not matches_any(package.relative(member.folder), excluded)


def find_go(package: Package) -> Finds:
    """Vet, build and test every module of the workspace, or this one."""
    manifest = package.first("go.work", "go.mod")
    if not manifest:
        return
    modules = [shlex.quote(f"{module}/...") for module in _go_modules(package)] if manifest == "go.work" else ["./..."]
    packages, reason = " ".join(modules), f"{package.label(manifest)} is there"
    if not package.is_folder("vendor"):
        inputs = package.existing("go.work", "go.work.sum", "go.mod", "go.sum")
        members = [
            f"{package.relative(member.folder)}/{name}" for member in package.members() for name in ("go.mod", "go.sum")
        ]
        inputs += package.existing(*members) if manifest == "go.work" else []
        yield Setup(tool="go", command="go mod download", reason=reason, inputs=tuple(inputs))
    if packages:
        yield _check(Purpose.LINT, f"go vet {packages}", reason, "go vet", timeout_secs=300)
        yield _check(Purpose.BUILD, f"go build {packages}", reason, "go build")
        yield _check(Purpose.TESTS, f"go test {packages}", reason, "go test")


def covers_go(package: Package, member: Package) -> bool:
    return package.exists("go.work") and f"./{package.relative(member.folder)}" in _go_modules(package)


def find_maven(package: Package) -> Finds:
    """`mvn test`, by the wrapper where there is one."""
    if not package.exists("pom.xml"):
        return
    program = "./mvnw" if package.exists("mvnw") else "mvn"
    reason = f"{package.label('pom.xml')} is there"
    # dependency:go-offline misses the provider that surefire picks when it runs, and the modules' own artifacts.
    yield Setup(
        tool="maven",
        command=f"{program} -q -B -Dmaven.test.failure.ignore=true test",
        reason=f"{reason}; a first run fetches dependencies, plugins and the test provider",
        inputs=tuple(package.existing("pom.xml", ".mvn/wrapper/maven-wrapper.properties")),
    )
    yield _check(Purpose.TESTS, f"{program} -B test", reason, "maven test", timeout_secs=_COMPILE_AND_TEST_SECS)


def covers_maven(package: Package, member: Package) -> bool:
    modules = re.findall(r"<module>\s*([^<\s]+)\s*</module>", package.text("pom.xml"))
    relative = package.relative(member.folder)
    return any(f"{relative}/".startswith(f"{module.strip('/')}/") for module in modules)


def find_gradle(package: Package) -> Finds:
    """`gradle test`, by the wrapper where there is one."""
    manifest = package.first(*_GRADLE_FILES)
    if not manifest:
        return
    program = "./gradlew --no-daemon" if package.exists("gradlew") else "gradle --no-daemon"
    reason = f"{package.label(manifest)} is there"
    # Only a run of the tests fetches what they need at run time; that they may fail is not setup's business.
    yield Setup(
        tool="gradle",
        command=f"{program} --continue test || {program} testClasses",
        reason=f"{reason}; a first run fetches dependencies, plugins and the test engine",
        inputs=tuple(
            package.existing(*_GRADLE_FILES, "gradle.properties", "gradle/libs.versions.toml", "gradle.lockfile")
        ),
    )
    yield _check(Purpose.TESTS, f"{program} test", reason, "gradle test", timeout_secs=_COMPILE_AND_TEST_SECS)


def covers_gradle(package: Package, member: Package) -> bool:
    """A build below belongs to the one above, unless it has settings of its own."""
    return bool(package.first(*_GRADLE_FILES)) and not member.first("settings.gradle", "settings.gradle.kts")


def find_cmake(package: Package) -> Finds:
    """Configure and build; ctest only where the project says that it has tests."""
    if not package.exists("CMakeLists.txt"):
        return
    text = re.sub(r"#.*", "", package.text("CMakeLists.txt"))
    manifest = package.label("CMakeLists.txt")
    # A folder that is already there may be the project's own.
    folder = "cmake-build-check" if package.is_folder("build") else "build"
    configure = f"cmake -S . -B {folder}"
    if re.search(r"\b(FetchContent_Declare|FetchContent_MakeAvailable|CPMAddPackage)\b", text):
        reason = f"{manifest} fetches content when it is configured"
        yield Setup(tool="cmake", command=configure, reason=reason, inputs=("CMakeLists.txt",))
    command = f"{configure} && cmake --build {folder} --parallel 4"
    yield _check(Purpose.BUILD, command, f"{manifest} is there", "cmake build")
    if tests := re.search(r"\b(enable_testing|add_test)\s*\(|\binclude\s*\(\s*CTest\s*\)", text, re.IGNORECASE):
        command = f"ctest --test-dir {folder} --output-on-failure --no-tests=error"
        yield _check(Purpose.TESTS, command, f"{manifest} has {tests[0].rstrip('( ')}", "ctest")


def covers_cmake(package: Package, member: Package) -> bool:
    return package.exists("CMakeLists.txt")


RUST = Ecosystem(language="Rust", manifests=("Cargo.toml",), find=find_cargo, covers=covers_cargo)
GO = Ecosystem(language="Go", manifests=("go.work", "go.mod"), find=find_go, covers=covers_go)
MAVEN = Ecosystem(language="Java", manifests=("pom.xml",), find=find_maven, covers=covers_maven)
GRADLE = Ecosystem(language="Java", manifests=_GRADLE_FILES, find=find_gradle, covers=covers_gradle)
CMAKE = Ecosystem(language="C or C++", manifests=("CMakeLists.txt",), find=find_cmake, covers=covers_cmake)


def _check(purpose: Purpose, command: str, reason: str, identity: str, *, timeout_secs: int = 0) -> Found:
    return Found(
        purpose=purpose,
        tool=identity.split(maxsplit=1)[0],
        command=command,
        reason=reason,
        identity=identity,
        timeout_secs=timeout_secs,
    )


def _go_modules(package: Package) -> list[str]:
    """The folders that go.work uses, as `./folder`."""
    folders = [name.strip('"').removeprefix("./").strip("/") for name in _go_uses(package.text("go.work"))]
    return [f"./{folder}" if folder not in ("", ".") else "." for folder in folders if ".." not in folder]


def _go_uses(text: str) -> Iterator[str]:
    inside = False
    for line in text.splitlines():
        words = line.split("//")[0].replace("(", " ( ").replace(")", " ) ").split()
        if words[:1] == ["use"]:
            inside = "(" in words
            words = words[1:]
        elif not inside:
            continue
        yield from (word for word in words if word not in ("(", ")") and word.isprintable())
        inside = inside and ")" not in words
