import { expect, test } from "vitest";

import { parseSkill } from "./parse-skill.ts";

const file = (head: string, body = "Do it.") => `---\n${head}\n---\n${body}\n`;

async function skillOf(text: string, folder = "deploy") {
  const parsed = await parseSkill(text, folder);
  if (!parsed.ok) throw new Error(parsed.reason);
  return parsed.skill;
}

async function reasonOf(text: string, folder = "deploy") {
  const parsed = await parseSkill(text, folder);
  return parsed.ok ? "" : parsed.reason;
}

test("a skill has its name, its description and the text below the front matter", async () => {
  const head = "name: deploy\ndescription: >\n  Ships it.\n  Use it often.\nversion: 1.10";
  expect(await skillOf(file(head, "# Deploy\n\nKnock first."))).toEqual({
    name: "deploy",
    description: "Ships it. Use it often.",
    body: "# Deploy\n\nKnock first.",
    allowedTools: null,
    warnings: [],
  });
});

test("a colon without quotes, a byte order mark and Windows line ends are understood", async () => {
  const text = file("name: deploy\ndescription: Use this when: the person says: ship it");
  const skill = await skillOf(`\uFEFF${text.replaceAll("\n", "\r\n")}`);
  expect(skill.description).toBe("Use this when: the person says: ship it");
  expect(skill.body).toBe("Do it.");
});

test("a name that is not its folder's counts, with a warning, and one that is none is the folder's", async () => {
  const other = await skillOf(file("name: ship\ndescription: Ships."));
  expect([other.name, other.warnings.length]).toEqual(["ship", 1]);
  const invalid = await skillOf(file("name: Ship It!\ndescription: Ships."));
  expect([invalid.name, invalid.warnings.length]).toEqual(["deploy", 1]);
  expect(await reasonOf(file("name: a--b\ndescription: Ships."), "Not One")).toContain('"a--b"');
});

test("tools that it asks for are shown with a warning", async () => {
  const skill = await skillOf(
    file("name: deploy\ndescription: Ships.\nallowed-tools: Bash(git:*) Read"),
  );
  expect(skill.allowedTools).toBe("Bash(git:*) Read");
  expect(skill.warnings[0]).toContain("Holdfast ignores that");
});

test.each([
  ["no front matter", "# Deploy", "must begin with front matter"],
  ["front matter that does not end", "---\nname: deploy\n", "must begin with front matter"],
  ["broken YAML", file("name: [deploy\ndescription: {"), "is not valid YAML"],
  ["a list", file("- name\n- description"), "is not valid YAML"],
  ["no description", file("name: deploy"), "no description"],
  ["an empty description", file('name: deploy\ndescription: "  "'), "no description"],
  ["a description that is a list", file("name: deploy\ndescription: [a]"), "must be text"],
  ["no instructions", file("name: deploy\ndescription: Ships.", ""), "no instructions"],
  ["aliases", file("name: &a deploy\ndescription: *a"), "is not valid YAML"],
  ["a control character", file("name: deploy\ndescription: Ships.", "a\u0000b"), "plain UTF-8"],
  [
    "too long a text",
    file("name: deploy\ndescription: Ships.", "x".repeat(50_000)),
    "longer than 48",
  ],
])("a file with %s is left out, and the reason says so", async (_, text, reason) => {
  expect(await reasonOf(text)).toContain(reason);
});

test("front matter evaluates nothing", async () => {
  const head = "name: deploy\ndescription: !!js/function 'function () { globalThis.ran = true; }'";
  const parsed = await parseSkill(file(head), "deploy");
  expect(Reflect.get(globalThis, "ran")).toBeUndefined();
  expect(parsed.ok && parsed.skill.description).not.toBeTypeOf("function");
});

test("a description that is too long is cut, with a warning", async () => {
  const { description, warnings } = await skillOf(
    file(`name: deploy\ndescription: ${"word ".repeat(400)}`),
  );
  expect(description.length).toBe(1_024);
  expect(warnings[0]).toContain("was cut");
});

test("front matter of many thousand lines is refused before it is read", async () => {
  const lines = Array.from({ length: 30_000 }, (_, index) => `k${index}: v`).join("\n");
  expect(await reasonOf(file(`name: deploy\ndescription: Ships.\n${lines}`))).toContain("16 KiB");
});
