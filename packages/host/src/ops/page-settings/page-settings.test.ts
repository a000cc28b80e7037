import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { type Json, type PageSettingName } from "@holdfast/protocol";
import { expect, test } from "vitest";
import { readConfig } from "../config/read-config.ts";
import { createPageSettings } from "./page-settings.ts";

function configWith(flags: Readonly<Record<string, unknown>> = {}) {
  const read = readConfig({ flags, environment: {}, personFolder: "/nowhere" });
  if (!read.ok) throw new Error(read.failure.message);
  return read.value;
}

test("a change applies at once, is there after a restart, and can be taken back", async () => {
  const store = createReferenceStore();
  const settings = createPageSettings(configWith(), store);
  await settings.load();
  const { config } = settings;
  expect(config.toolPolicy).toMatchObject({ value: "ask", source: { from: "default" } });
  expect(await settings.change("toolPolicy", "read-only")).toEqual({ kind: "changed" });
  expect(config.toolPolicy).toMatchObject({ value: "read-only", source: { from: "page" } });
  const restarted = createPageSettings(configWith(), store);
  await restarted.load();
  expect(restarted.config.toolPolicy.value).toBe("read-only");
  await settings.change("toolPolicy", undefined);
  expect(config.toolPolicy).toMatchObject({ value: "ask", source: { from: "default" } });
  await restarted.refresh();
});

test("what a flag sets wins over what was stored, and cannot be changed", async () => {
  const store = createReferenceStore();
  const earlier = createPageSettings(configWith(), store);
  await earlier.change("model", "rehearsal");
  const settings = createPageSettings(configWith({ model: "openai/gpt-6-sol" }), store);
  await settings.load();
  expect(settings.config.model.value).toBe("openai/gpt-6-sol");
  expect(settings.view("model")).toMatchObject({ source: { from: "flag", name: "--model" } });
  expect(await settings.change("model", "rehearsal")).toEqual({
    kind: "configured",
    where: "--model",
  });
});

test.each<[PageSettingName, Json]>([
  ["toolPolicy", "everything"],
  ["toolRules", ["gibberish without an effect"]],
  ["model", "nobody/knows"],
  ["modelEffort", { "openai/gpt-6-sol": "extreme" }],
  ["disabledTools", ["two words"]],
  ["webhookCommands", { ci: ["explode"] }],
  ["sandbox", null],
])("%s cannot become %j", async (name, value) => {
  const settings = createPageSettings(configWith(), createReferenceStore());
  await settings.load();
  const before = settings.view(name);
  expect(await settings.change(name, value)).toMatchObject({ kind: "invalid" });
  expect(settings.view(name)).toEqual(before);
});

test("a setting that is read at the start says what it will be after a restart", async () => {
  const store = createReferenceStore();
  const settings = createPageSettings(configWith(), store);
  await settings.load();
  await settings.change("sandbox", "required");
  expect(settings.view("sandbox")).toMatchObject({
    value: "preferred",
    effect: "restart",
    afterRestart: "required",
  });
  const restarted = createPageSettings(configWith(), store);
  await restarted.load();
  expect(restarted.view("sandbox")).toMatchObject({ value: "required", source: { from: "page" } });
  expect(restarted.view("sandbox")).not.toHaveProperty("afterRestart");
});

test("a stored value that no longer fits sets nothing", async () => {
  const store = createReferenceStore();
  const owner = "owner" as Parameters<typeof store.register.put>[0]["owner"];
  await store.register.put({ owner, key: "setting/toolPolicy", value: '"other"', expect: 0 });
  const settings = createPageSettings(configWith(), store);
  await settings.load();
  expect(settings.config.toolPolicy.value).toBe("ask");
});
