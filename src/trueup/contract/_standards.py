"""The files that decide a verdict wherever they turn up: known by name, so that new ones count."""

from __future__ import annotations

from ._globs import Globs

_CONFIG = "{cfg,ini,toml,json,json5,jsonc,yml,yaml,js,cjs,mjs,ts,cts,mts}"
_JS_RUNNERS = "{jest,vitest,mocha,playwright,cypress,karma,ava,wdio,nightwatch,jasmine,babel,vite}"
_SCRIPT = "{js,cjs,mjs,ts,cts,mts,jsx,tsx}"

_TESTS = [
    *"tests test __tests__ spec e2e *.tests testdata test-data test_data cypress".split(),
    *"fixtures __fixtures__ snapshots __snapshots__ golden goldens __mocks__".split(),
    "**/src/{androidTest,integrationTest,functionalTest,testFixtures,intTest}",
    *"{test_*,*_test,*_tests,test,tests}.py *_test.go *.bats *.snap *.ambr *.golden *.feature *.approved.*".split(),
    *"*_{test,spec}.{rb,ex,exs,dart,lua,c,cc,cpp,cxx,rs} {test_*,tests}.{c,cc,cpp,cxx,rs} test_helper.* *_helper.exs".split(),
    f"*.{{test,spec,cy,e2e}}.{_SCRIPT}",
    f"{{test,test-*,*-test,*_test,*_spec}}.{_SCRIPT}",
]
_RUNNERS = [
    *"conftest.py pytest.ini .pytest.ini pytest.toml .pytest.toml tox.ini tox.toml noxfile.py".split(),
    *".coveragerc* .nycrc* .c8rc* codecov.yml .codecov.yml".split(),
    f"{_JS_RUNNERS}.{{config,conf,setup,workspace,global-setup}}*.{_CONFIG}",
    f"{_JS_RUNNERS}.{{json,yml,yaml}}",
    *".mocharc* .taprc* .babelrc* .swcrc setupTests.*".split(),
    *"phpunit*.xml* phpunit*.dist .rspec .simplecov bunfig.toml *.runsettings testng*.xml nextest.toml .config/nextest*".split(),
    *"behave.ini .behaverc nose.cfg .noserc cucumber.{js,cjs,mjs,json,yml,yaml}".split(),
]
_LINTERS = [
    "*lint*.{cfg,ini,toml,json,json5,jsonc,yml,yaml,xml,conf,neon,properties}",
    "{*lint,lint*,*lint.*,.*lint*}.{js,cjs,mjs}",
    *".*lintrc* .*lintignore .eslint-* pylintrc .jshintrc .jshintignore .jscsrc".split(),
    *"ruff.toml .ruff.toml mypy.ini .mypy.ini .flake8 pyrightconfig.json ty.toml .isort.cfg .style.yapf .pydocstyle*".split(),
    *".pycodestyle .bandit* .importlinter .codespellrc {_,.,}typos.toml .secrets.baseline".split(),
    *".prettierrc* .prettierignore prettier.config.* biome.json* tsconfig*.json jsconfig*.json .oxfmtrc* dprint.json".split(),
    *"{clippy,.clippy,rustfmt,.rustfmt,deny}.toml .golangci.* revive.toml .rubocop* .reek.yml".split(),
    *"phpstan*.neon* psalm*.xml* .php-cs-fixer* .php_cs* phpcs.xml* checkstyle*.xml pmd*.xml spotbugs*.xml".split(),
    *"detekt*.{yml,yaml,xml} .scalafmt.conf .scalafix.conf .clang-tidy .clang-format .swiftformat .credo.exs".split(),
    *".shellcheckrc .semgrep* .semgrepignore .pre-commit-config.yaml .lintstagedrc* lefthook.y*ml .husky .pre-commit-hooks.yaml".split(),
]
_START_UP = [
    *"sitecustomize sitecustomize.* usercustomize usercustomize.* *.pth *.dist-info *.dist-info/** *.egg-info *.egg-info/** .pythonrc* .pythonstartup* pyvenv.cfg".split(),
    *".npmrc .yarnrc* .yarn .pnpmfile.* .pnp.* pip.conf uv.toml .envrc .bash_env .mvn .jvmopts .sbtopts".split(),
    *"nuget.config .bazelrc .cargo/config* **/.cargo/config*".split(),
]
_BUILD = [
    *"Makefile GNUmakefile makefile.* *.mk {,.}justfile *.just CMakeLists.txt CMakePresets.json *.cmake build.rs".split(),
    *"build.gradle* settings.gradle* gradle.properties /gradle **/gradle/wrapper init.gradle* pom.xml gradlew* mvnw* build.xml build.sbt".split(),
    *"Rakefile *.rake Taskfile.y*ml setup.py Dockerfile* *.dockerfile Containerfile* {docker-,}compose*.y*ml".split(),
    *"meson.build SConstruct SConscript BUILD.bazel {WORKSPACE,MODULE}.bazel *.bzl Directory.Build.* rust-toolchain*".split(),
    f"{{webpack,rollup,esbuild}}.*{_CONFIG}",
    *"nx.json turbo.json dodo.py Earthfile gulpfile.* gruntfile.*".split(),
]
_CI = [
    *".github/workflows .github/actions .gitlab-ci* .circleci azure-pipelines* Jenkinsfile* .travis.yml".split(),
    *".drone.y*ml .buildkite bitbucket-pipelines.yml appveyor.yml .appveyor.yml .cirrus.* .woodpecker*".split(),
    *".ci /ci".split(),
]
_LOCKS = [
    *"*.lock *.lockb package-lock.json npm-shrinkwrap.json pnpm-lock.yaml go.sum go.work.sum".split(),
    *"gradle.lockfile packages.lock.json pylock*.toml Package.resolved conda-lock.y*ml requirements*.lock".split(),
]
_INSTALLED = "node_modules .venv venv site-packages __pycache__ *.pyc *.pyo".split()
# Attributes are looked at line by line where a change is read: most only say how lines end.
_GIT = ".gitmodules .lfsconfig .git".split()
_TRUEUP = "trueup.yaml trueup.yml .trueup .worktreeinclude".split()

# The first that matches gives the reason. Case is ignored: some file systems and most of these tools do.
_PATTERNS = {
    "start-up file of an interpreter or package manager": _START_UP,
    "trueup's own configuration": _TRUEUP,
    "runner configuration": _RUNNERS,
    "lint configuration": _LINTERS,
    "test file": _TESTS,
    "build script": _BUILD,
    "CI workflow": _CI,
    "lock file": _LOCKS,
    "installed or compiled code, which stands in for its source": _INSTALLED,
    "git's own configuration": _GIT,
}
_STANDARDS = {reason: Globs(patterns, ignore_case=True) for reason, patterns in _PATTERNS.items()}
_ANY_STANDARD = Globs((pattern for patterns in _PATTERNS.values() for pattern in patterns), ignore_case=True)

_SETUP_INPUTS = Globs(
    [
        *_LOCKS,
        *"pyproject.toml setup.py setup.cfg requirements*.{txt,in} requirements/*.{txt,in} constraints*.txt".split(),
        *"Pipfile environment*.y*ml poetry.toml uv.toml pdm.toml .python-version .tool-versions".split(),
        *"package.json pnpm-workspace.yaml .npmrc .yarnrc* .nvmrc deno.json bunfig.toml".split(),
        *"Cargo.toml rust-toolchain* go.mod go.work Gemfile *.gemspec composer.json mix.exs pubspec.yaml".split(),
        *"pom.xml build.gradle* settings.gradle* gradle.properties libs.versions.toml build.sbt *.csproj nuget.config".split(),
        *"conanfile.* vcpkg.json Package.swift stack.yaml *.cabal".split(),
    ],
    ignore_case=True,
)


def known_standard(path: str) -> str | None:
    """Why a file of this name decides a verdict; None where its name says nothing of the kind."""
    if not _ANY_STANDARD.match(path):
        return None
    return next(reason for reason, globs in _STANDARDS.items() if globs.match(path))


def known_setup_input(path: str) -> bool:
    """Whether a file of this name says which dependencies are installed."""
    return _SETUP_INPUTS.match(path)
