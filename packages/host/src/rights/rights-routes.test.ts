import { expect, onTestFinished, test } from "vitest";

import { openApi } from "../../test/support/api-rig.ts";

function open() {
  const rig = openApi();
  onTestFinished(() => rig.close());
  const call = async (method: string, path: string, body?: unknown) => {
    const response = await rig.ask(method, `/api/rights${path}`, body);
    const text = await response.text();
    return { status: response.status, body: text === "" ? null : (JSON.parse(text) as unknown) };
  };
  return { ...rig, call };
}

const readers = {
  tools: ["read_file", "wiki__*"],
  sessions: "own",
  memory: "read",
  approvals: false,
};

test("a profile is created, given, changed, taken back and removed", async () => {
  const { call } = open();
  const start = await call("GET", "");
  expect(start.body).toMatchObject({
    profiles: [
      { name: "owner", builtIn: true, approvals: true },
      { name: "group", builtIn: true, memory: "none" },
      { name: "webhook", builtIn: true, sessions: "own" },
      { name: "program", builtIn: true },
      { name: "own", builtIn: true, memory: "none" },
    ],
    assignments: [],
  });
  expect(await call("PUT", "/profiles/readers", readers)).toMatchObject({
    status: 200,
    body: { profile: { name: "readers", builtIn: false, ...readers } },
  });
  const given = await call("PUT", "/assignments", { subject: "webhook:ci", profile: "readers" });
  expect(given.body).toMatchObject({
    assignments: [{ subject: "webhook:ci", profile: "readers" }],
  });
  expect(await call("DELETE", "/profiles/readers")).toMatchObject({
    status: 409,
    body: { code: "rights_in_use" },
  });
  await call("PUT", "/profiles/readers", { ...readers, spendMicrosPerDay: 5 });
  const back = await call("PUT", "/assignments", { subject: "webhook:ci", profile: null });
  expect(back.body).toMatchObject({ assignments: [] });
  expect((await call("DELETE", "/profiles/readers")).status).toBe(204);
  expect(await call("DELETE", "/profiles/readers")).toMatchObject({
    status: 404,
    body: { code: "rights_not_found" },
  });
});

test.each([
  ["PUT", "/profiles/owner", readers, 409, "rights_built_in"],
  ["DELETE", "/profiles/webhook", undefined, 409, "rights_built_in"],
  ["PUT", "/assignments", { subject: "groups", profile: "nobody" }, 404, "rights_not_found"],
  ["PUT", "/assignments", { subject: "everybody", profile: "owner" }, 400, "invalid_request"],
  ["PUT", "/profiles/Readers", readers, 400, "invalid_request"],
  ["PUT", "/profiles/r", { ...readers, tools: ["re*d"] }, 400, "invalid_request"],
  ["PUT", "/profiles/r", { ...readers, more: 1 }, 400, "invalid_request"],
])(
  "[safety] %s %s is refused with a code that says why",
  async (method, path, body, status, code) => {
    const { call } = open();
    expect(await call(method, path, body)).toMatchObject({ status, body: { code } });
    expect((await call("GET", "")).body).toMatchObject({
      profiles: { length: 5 },
      assignments: [],
    });
  },
);
