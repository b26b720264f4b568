"""Bundle the parts of three.js that pages use into one minified file, with its license.

``VERSION`` is the only place where the version is written. To update, change it, run this script (it needs npm and a
network), run the tests of pages, and commit the new files.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

VERSION = "0.187.0"
ESBUILD = "0.28.2"
FOLDER = Path(__file__).parents[1] / "src" / "polhode" / "show" / "page"
VENDOR = FOLDER / "vendor"
ADDONS = {"OrbitControls": "controls/OrbitControls.js"}


def used_names() -> list[str]:
    """Return the names of three.js that the scripts of pages use."""
    text = "".join(path.read_text("utf-8") for path in sorted(FOLDER.glob("*.js")))
    return sorted(set(re.findall(r"\bTHREE\.(\w+)", text)) | set(ADDONS))


def entry(names: list[str]) -> str:
    """Return the module that exports these names, and nothing else."""
    core = [name for name in names if name not in ADDONS]
    lines = [f"export {{ {', '.join(core)} }} from 'three';"]
    lines += [f"export {{ {name} }} from 'three/addons/{path}';" for name, path in ADDONS.items()]
    return "\n".join(lines)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        needs = {"three": VERSION, "esbuild": ESBUILD}
        (folder / "package.json").write_text(json.dumps({"private": True, "dependencies": needs}))
        subprocess.run(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=folder, check=True)
        (folder / "entry.js").write_text(entry(used_names()))
        banner = f"/* three.js {VERSION}, MIT license, see three-LICENSE.txt */"
        command = ["npx", "esbuild", "entry.js", "--bundle", "--minify", "--format=iife", "--global-name=THREE"]
        command += ["--legal-comments=none", f"--banner:js={banner}", "--outfile=three.min.js"]
        subprocess.run(command, cwd=folder, check=True)
        VENDOR.mkdir(exist_ok=True)
        shutil.copy(folder / "three.min.js", VENDOR / "three.min.js")
        shutil.copy(folder / "node_modules" / "three" / "LICENSE", VENDOR / "three-LICENSE.txt")


if __name__ == "__main__":
    main()
