import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { runHere, serveHere } from "../../../test/support/command-rig.ts";

function makeHome(): string {
  const home = mkdtempSync(join(tmpdir(), "holdfast-completion-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

/** What a real bash suggests for Tab at the end of each line; a fake `holdfast` echoes what it is asked. */
async function suggestionsFor(lines: readonly string[]): Promise<string[][]> {
  const { said: script } = await runHere(["completion", "bash"], {});
  const driver = `
    holdfast() { printf '%s\\tasked for %s\\n' k3m9x2 "$*"; [[ $* == *all* ]] && printf '%s\\tand this\\n' p7q8r9; }
    COMP_WORDBREAKS=$' \\t\\n:='
    press() {
      local IFS=$' \\t\\n:='
      COMP_LINE="$1" COMP_POINT=\${#1} COMP_TYPE=\${2:-9}
      COMP_WORDS=($1)
      [[ $1 == *[:\\ ] ]] && COMP_WORDS+=("")
      COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
      _holdfast
      (IFS=,; echo "\${COMPREPLY[*]}")
    }
    source /dev/stdin <<< "$SCRIPT"
    for line in "$@"; do press "\${line#[?]}" $([[ $line == [?]* ]] && echo 63); done`;
  const args = ["--norc", "-c", driver, "bash", ...lines];
  const env = { PATH: process.env["PATH"], SCRIPT: script };
  const said = execFileSync("bash", args, { encoding: "utf8", env });
  return said
    .split("\n")
    .slice(0, lines.length)
    .map((line) => line.split(","));
}

test("bash completes commands, subcommands, flags and their values", async () => {
  const [
    first,
    subcommands,
    session,
    named,
    listed,
    alone,
    flags,
    choices,
    setting,
    settingNames,
    none,
  ] = await suggestionsFor([
    "holdfast se",
    "holdfast sessions re",
    "holdfast sessions --limit 3 show ",
    "holdfast chat --home /a --session gar",
    "?holdfast chat --session all",
    "?holdfast chat --session gar",
    "holdfast run --s",
    "holdfast export garden --format ",
    "holdfast serve --tool-policy re",
    "holdfast config get tele",
    "holdfast chat ",
  ]);
  expect(first).toEqual(["serve", "sessions", "secrets"]);
  expect(subcommands).toEqual(["rename", "restore"]);
  expect(session).toEqual(["k3m9x2"]);
  expect(named).toEqual(["k3m9x2"]);
  // Listed suggestions have descriptions, and the host is asked with the home of this very line.
  expect(listed).toEqual([
    "k3m9x2  (asked for __complete session all --session)",
    "p7q8r9  (and this)",
  ]);
  // A lone suggestion may be inserted into the line, so it must not contain a title.
  expect(alone).toEqual(["k3m9x2"]);
  expect(flags).toEqual(["--session", "--store"]);
  expect(choices).toEqual(["md", "html", "json", "audit", "jsonl"]);
  expect(setting).toEqual(["read-only"]);
  expect(settingNames).toContain("telegramToken");
  expect(none).toEqual([""]);
});

test("Tab in an interactive bash completes the line, and runs nothing of it", async () => {
  const folder = makeHome();
  const { said: script } = await runHere(["completion", "bash"], {});
  writeFileSync(join(folder, "completion.bash"), script);
  const title = "$(touch ran-title)";
  const typed = [
    `holdfast() { case $1 in __complete) printf 'k3m9x2\\t${title}\\n' ;; *) printf '%s|' "$@"; echo ;; esac; }`,
    "source ./completion.bash",
    "holdfast fs\t --reb\t",
    "holdfast chat --session gar\t",
    // Tab inside a line that Ctrl-U then discards.
    'holdfast run "$(touch ran-line)" --mod\t\u0015exit',
  ];
  const said = execFileSync("bash", ["--norc", "--noprofile", "-i"], {
    cwd: folder,
    encoding: "utf8",
    env: { PATH: process.env["PATH"], HOME: folder, HISTFILE: "" },
    input: `${typed.join("\n")}\n`,
    stdio: ["pipe", "pipe", "ignore"],
  });
  expect(said).toBe("fsck|--rebuild|\nchat|--session|k3m9x2|\n");
  expect(readdirSync(folder)).toEqual(["completion.bash"]);
});

test("a name with a colon is completed after the colon, where bash ends a word", async () => {
  const { said: script } = await runHere(["completion", "bash"], {});
  const driver = `
    holdfast() { echo ollama/qwen:7b; }
    source /dev/stdin <<< "$SCRIPT"
    COMP_LINE='holdfast chat --model ollama/qwen:' COMP_TYPE=9
    COMP_POINT=\${#COMP_LINE} COMP_WORDS=(holdfast chat --model ollama/qwen : '') COMP_CWORD=5
    _holdfast
    echo "\${COMPREPLY[*]}"`;
  const env = { PATH: process.env["PATH"], SCRIPT: script };
  const said = execFileSync("bash", ["--norc", "-c", driver], { encoding: "utf8", env });
  expect(said).toBe("7b\n");
});

test("a model whose name could run as a command is not suggested", async () => {
  const names = ["qwen:7b", "x;touch${IFS}stolen", "$(id)", "`id`", "a b", "x>y", "x\nid", "-x'"];
  const server = createServer((_, response) =>
    response
      .writeHead(200, { "content-type": "application/json" })
      .end(JSON.stringify({ data: names.map((id) => ({ id })) })),
  ).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("No port.");
  const served = await serveHere(makeHome(), {
    HOLDFAST_OPENAI_BASE_URL: `http://127.0.0.1:${address.port}/v1`,
  });
  onTestFinished(() => served.close());
  const args = ["__complete", "model", "openai-compatible/"];
  expect(await runHere(args, served.settings)).toMatchObject({
    said: "openai-compatible/qwen:7b\n",
  });
});

test("without a host, or for a senseless line, completion prints nothing", async () => {
  const nothing = { code: 0, said: "", told: "" };
  const settings = { HOLDFAST_HOME: makeHome() };
  for (const line of [["session", ""], ["model", "x", "--home"], ["what", "", "--port", "z"], []])
    expect(await runHere(["__complete", ...line], settings)).toEqual(nothing);
});

test.each(["zsh", "fish"])(
  "the script for %s contains every command and asks for sessions",
  async (shell) => {
    const { code, said } = await runHere(["completion", shell], {});
    expect(code).toBe(0);
    for (const name of ["serve", "schedules", "doctor", "completion"]) expect(said).toContain(name);
    expect(said).toContain("__complete");
    expect(await runHere(["completion", "tcsh"], {})).toMatchObject({ code: 2 });
  },
);
