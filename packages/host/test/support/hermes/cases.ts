import {
  assistant,
  HermesHome,
  type HermesMessage,
  type HermesSchema,
  sha256,
  summaryText,
  tool,
  user,
} from "./home.ts";
import { type Truth, type TruthInput, truthSchema } from "./truth.ts";

type Conversation = TruthInput["conversations"][number];
/** Filled in while the home is written. */
type KnownHome = TruthInput & {
  readonly damaged: NonNullable<TruthInput["damaged"]>;
  readonly ghosts: NonNullable<TruthInput["ghosts"]>;
  readonly deleted: NonNullable<TruthInput["deleted"]>;
};

/** Writes a home in which most of what happens to one has happened, and returns what is true of it. */
export function writeHermesHome(root: string, schema: HermesSchema = "full"): Truth {
  const home = new HermesHome(root, schema);
  const truth: KnownHome = { conversations: [], damaged: [], ghosts: [], deleted: [] };
  const add = (
    id: string,
    messages: readonly HermesMessage[],
    more: Partial<Omit<Conversation, "messages">> = {},
  ): void => {
    const said = messages.map(({ role, content, note, calls, reasoning, where, images }) => ({
      role,
      sha256: sha256(content),
      tools: (calls ?? []).map(() => "terminal"),
      reasoning: reasoning !== undefined,
      ...(typeof images === "number" && { images }),
      ...(Array.isArray(where) && { where: where.map(String) }),
      ...(typeof note === "string" && { note }),
    }));
    truth.conversations.push({
      id,
      segments: [id],
      flags: {},
      not_shown: [],
      ...more,
      messages: said,
    });
  };
  const damaged = (kind: string, path: string, session: string): void =>
    void truth.damaged.push({ kind, path, session });
  agentCases(home, add, damaged, truth);
  pageCases(home, add, damaged, truth);
  truth.home = settingsOf(home);
  // An import finds rows that only the log has.
  home.session("20260101_last", { title: "The last thing" }, [user("the last thing")]);
  add("20260101_last", [user("the last thing")], { title: "The last thing" });
  home.close();
  return truthSchema.parse(truth);
}

type Add = (
  id: string,
  messages: readonly HermesMessage[],
  more?: Partial<Omit<Conversation, "messages">>,
) => void;
type Damaged = (kind: string, path: string, session: string) => void;

const died = "partial: the server died";
const picture =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

function agentCases(home: HermesHome, add: Add, damaged: Damaged, truth: KnownHome): void {
  const plain = [
    user("water the beds"),
    assistant("I look first.", { calls: ["c1", "c2"], reasoning: "two things" }),
    tool("c1", "dry\u0000 \u2028 soil"),
    tool("c2", "x".repeat(250_000)),
    assistant(""),
    { role: "system", content: "a system row" },
    user("ok"),
    user("ok"),
    assistant("ok"),
  ];
  const usage = {
    input_tokens: 100,
    output_tokens: 20,
    actual_cost_usd: 0.5,
    ended_at: 1_767_949_300,
  };
  home.session("plain", { title: "Beds", model: "m", cwd: "/home/ada", ...usage }, plain);
  add("plain", plain, { title: "Beds" });
  const parts = [
    { type: "text", text: "two" },
    { type: "text", text: "texts" },
  ];
  const image = { type: "image_url", image_url: { url: `data:image/png;base64,${picture}` } };
  home.session("parts", {}, [user(`\u0000json:${JSON.stringify([...parts, image])}`)]);
  add("parts", [user("two\ntexts", { images: 1 })]);
  chains(home, add);
  const shelves = [user("shelves"), assistant("oak"), user("how long"), assistant("two metres")];
  home.session("shelves", { title: "Shelves" }, shelves);
  add("shelves", shelves, { title: "Shelves" });
  const branch = { model_config: JSON.stringify({ _branched_from: "shelves" }) };
  const other = [...shelves.slice(0, 2), user("and if pine"), assistant("also")];
  home.session("pine", { parent_session_id: "shelves", ...branch }, other);
  add("pine", other, { fork_of: { id: "shelves", shared: 2 } });
  const task = { source: "subagent", model_config: JSON.stringify({ _delegate_from: "shelves" }) };
  home.session("task", { parent_session_id: "shelves", ...task }, [user("a task"), assistant("x")]);
  add("task", [user("a task"), assistant("x")], { hidden: "subagent run" });
  home.session("broken", {}, [user("go"), assistant("", { tool_calls: '[{"id": "c9", "func' })]);
  add("broken", [user("go"), assistant("")]);
  damaged("broken_tool_calls", "state.db", "broken");
  home.session("open-call", {}, [user("go"), assistant("now", { calls: ["c8"] })]);
  add("open-call", [user("go"), assistant("now", { calls: ["c8"] })]);
  damaged("unanswered_tool_call", "state.db", "open-call");
  home.session("lost", { parent_session_id: "nowhere" }, [user("alone")]);
  add("lost", [user("alone")]);
  damaged("lost_parent", "state.db", "lost");
  // Two sessions that name each other.
  for (const [id, parent] of [
    ["circle-a", "circle-b"],
    ["circle-b", "circle-a"],
  ] as const)
    home.session(id, { parent_session_id: parent, end_reason: "compression" }, [user(`in ${id}`)]);
  add("circle-b", [user("in circle-a"), user("in circle-b")], {
    segments: ["circle-a", "circle-b"],
  });
  damaged("cycle", "state.db", "circle-a");
  home.session("empty", { source: "tui" });
  truth.ghosts.push({ id: "empty" });
  home.session("chat", { source: "telegram", user_id: "42" }, [
    { role: "session_meta", content: "" },
    user("hello from the chat"),
  ]);
  add("chat", [user("hello from the chat")]);
  const origin = { platform: "telegram", chat_id: "42", chat_type: "dm", thread_id: null };
  home.file("sessions/sessions.json", JSON.stringify({ k: { session_id: "chat", origin } }));
  home.session("cron_0a1b2c3d4e5f_20260116_100914", { source: "cron" }, [user("brief")]);
  add("cron_0a1b2c3d4e5f_20260116_100914", [user("brief")]);
}

function chains(home: HermesHome, add: Add): void {
  const first = [
    user("plan the greenhouse"),
    assistant("with glass", { calls: ["g1"] }),
    tool("g1", "a long list of panes"),
    user("what else"),
    assistant("a door"),
    user("which door"),
    assistant("a wide one"),
  ];
  const short = { ...first[2], content: "[terminal] run g1 (20 chars result)" } as HermesMessage;
  const later = [user("and the floor"), assistant("stone")];
  const compression = { end_reason: "compression", ended_at: home.now() };
  home.session("green-1", { title: "Greenhouse", archived: 1, ...compression }, first);
  home.session("green-2", { parent_session_id: "green-1", archived: 1, title: "Greenhouse #2" }, [
    ...first.slice(0, 2),
    short,
    user(summaryText("Build it.")),
    ...first.slice(5),
    ...later,
  ]);
  add("green-2", [...first, ...later], {
    segments: ["green-1", "green-2"],
    not_shown: [{ why: "summary written by a compaction" }],
    title: "Greenhouse #2",
    flags: { archived: true },
  });
  home.session("green-x", { parent_session_id: "green-1", ended_at: home.now() }, [user("stale")]);
  add("green-x", [user("stale")], { flags: { archived: true }, hidden: "stale sibling" });
  // Compacted in place; the summary is merged into the first message that is kept. Then two turns are taken back.
  const seeds = [
    user("seeds"),
    assistant("beans"),
    user("more"),
    assistant("peas"),
    user("and"),
    assistant("corn"),
  ];
  const undone = [user("no, wait", { state: "undone" }), assistant("yes?", { state: "undone" })];
  home.session("seeds", { title: "Seeds" }, [
    ...seeds.map((message) => ({ ...message, state: "compacted" as const })),
    ...seeds.slice(0, 2),
    user(`${summaryText("Order.")}\n\nand`),
    ...seeds.slice(5),
    ...undone,
    user("when"),
    assistant("in May"),
  ]);
  add("seeds", [...seeds, user("when"), assistant("in May")], {
    title: "Seeds",
    not_shown: [
      ...undone.map(({ role, content }) => ({
        why: "taken back by a rewind",
        role,
        sha256: sha256(content),
      })),
      { why: "summary written by a compaction" },
    ],
  });
}

function pageCases(home: HermesHome, add: Add, damaged: Damaged, truth: KnownHome): void {
  home.file(
    "webui/projects.json",
    JSON.stringify([
      { project_id: "p1", name: "Garden" },
      { project_id: "p2", name: "Cron Jobs" },
    ]),
  );
  const rows = [user("page one"), assistant("answer one")];
  home.session("aa01", { source: "webui" }, rows);
  const card = assistant("**Error:** 503", { _error: true, note: "card" });
  const more = [user("page two"), assistant("half an ans", { _partial: true, note: died }), card];
  const onPage = { title: "Beds #spring", pinned: true, project_id: "p1" };
  home.sidecar("aa01", onPage, [...rows, ...more]);
  add("aa01", [...rows, ...more], {
    title: "Beds #spring",
    flags: { pinned: true, project: "Garden", tags: ["spring"] },
  });
  // Undone on the page, then gone on: the rows are still live.
  const turns = [
    user("u1"),
    assistant("a1"),
    user("u2"),
    assistant("a2"),
    user("u3"),
    assistant("a3"),
  ];
  const times = home.session("aa02", { source: "webui" }, turns);
  const kept = [...turns.slice(0, 2), ...turns.slice(4)];
  const cut = { truncation_watermark: times[4], truncation_boundary: times[1] };
  home.sidecar("aa02", cut, kept);
  const takenBack = { why: "undone in the page" };
  add("aa02", kept, { not_shown: [takenBack, takenBack] });
  home.session("aa03", { source: "webui" }, rows);
  home.sidecar("aa03", { truncation_watermark: 0, title: "Untitled" }, []);
  add("aa03", [], { not_shown: [takenBack, takenBack] });
  // Killed in mid-answer, with rows of its tools, and separators in the streamed text.
  home.session("aa04", { source: "webui" }, [
    user("ask"),
    assistant("I look.", { calls: ["d1"] }),
    tool("d1", "found"),
  ]);
  const started = home.now();
  home.sidecar(
    "aa04",
    { active_stream_id: "s4", pending_user_message: "ask", pending_started_at: started - 20 },
    [],
  );
  home.runJournal(
    "aa04",
    "s4",
    [
      ["token", { text: "I look." }],
      ["interim_assistant", { text: "I look.", already_streamed: true }],
      ["tool", { name: "terminal", tid: "d1", args: {} }],
      ["tool_complete", { name: "terminal", tid: "d1", preview: "fo" }],
      ["token", { text: "It says\u2028" }],
      ["token", { text: "that\u0085it is dry" }],
    ],
    '{"version":1,"event_id":"s4:7","se',
  );
  add("aa04", [
    user("ask"),
    assistant("I look.", { calls: ["d1"] }),
    tool("d1", "found"),
    assistant("It says\u2028that\u0085it is dry", { note: died, where: ["journal"] }),
  ]);
  const journal = "webui/sessions/_run_journal/aa04/s4.jsonl";
  damaged("torn_journal_line", journal, "aa04");
  damaged("lost_answer", journal, "aa04");
  // Killed in its first turn: nothing but the journal.
  home.sidecar(
    "aa05",
    { active_stream_id: "s5", pending_user_message: "first", pending_started_at: home.now() },
    [],
  );
  home.runJournal("aa05", "s5", [["token", { text: "the beginning" }]]);
  damaged("lost_answer", "webui/sessions/_run_journal/aa05/s5.jsonl", "aa05");
  add("aa05", [user("first"), assistant("the beginning", { note: died, where: ["journal"] })]);
  // A sidecar that ends inside of a character, and the run's last event has the whole.
  const whole = [user("wie"), assistant("Wärme")];
  const text = Buffer.from(home.sidecarText("aa06", { title: "Heizung" }, whole));
  home.file("webui/sessions/aa06.json", text.subarray(0, text.indexOf(0xc3) + 1));
  home.runJournal("aa06", "s6", [["done", { session: { messages: whole } }]]);
  add("aa06", whole, { title: "Heizung" });
  damaged("torn_sidecar", "webui/sessions/aa06.json", "aa06");
  home.runJournal("aa07", "s7", [["done", { session: { messages: rows, title: "Only here" } }]]);
  add("aa07", rows, { title: "Only here" });
  damaged("orphan_journal", "webui/sessions/_run_journal/aa07", "aa07");
  damaged("index_names_missing_session", "webui/sessions/_index.json", "aa07");
  home.session("aa08", { source: "webui" }, rows);
  home.file("webui/sessions/_deleted_webui_sessions.json", JSON.stringify({ ids: ["aa08"] }));
  truth.deleted.push({ id: "aa08" });
  home.sidecar("aa09", {}, []);
  truth.ghosts.push({ id: "aa09" });
  // A picture, and names that lead elsewhere.
  home.file("webui/attachments/aa10/pear.png", Buffer.from(picture, "base64"));
  home.link("webui/attachments/aa10/link.txt", "/etc/passwd");
  const names = ["pear.png", "../../../state.db", "link.txt", "gone.pdf"];
  home.sidecar("aa10", {}, [user("look", { attachments: names }), assistant("a pear")]);
  add("aa10", [user("look", { images: 1 }), assistant("a pear")]);
  home.file("webui/sessions/aa11.json", "");
  damaged("torn_sidecar", "webui/sessions/aa11.json", "aa11");
  const indexed = ["aa01", "aa02", "aa03", "aa04", "aa05", "aa06", "aa07", "aa09"];
  home.file(
    "webui/sessions/_index.json",
    JSON.stringify(indexed.map((id) => ({ session_id: id }))),
  );
  damaged("index_lacks_session", "webui/sessions/_index.json", "aa10");
}

function settingsOf(home: HermesHome): NonNullable<TruthInput["home"]> {
  const soul = "You are the gardener's helper.";
  home.file("SOUL.md", soul);
  home.file("memories/MEMORY.md", "Six beds.\n§\nThe router is\nwrong by § one hour.");
  home.file("memories/USER.md", "Prefers short answers.");
  home.file("skills/garden/log/SKILL.md", "---\nname: log\ndescription: Read it.\n---\nRead.");
  home.file("skills/garden/log/references/beds.md", "beds");
  home.file(
    "config.yaml",
    [
      "timezone: Europe/Berlin",
      "mcp_servers:",
      "  files: { command: npx, args: [-y, server], env: { TOKEN: hunter2 } }",
      "custom_providers: [{ name: lab, base_url: 'http://10.0.0.7/v1', api_key: sk-lab }]",
    ].join("\n"),
  );
  home.file(
    ".env",
    "ANTHROPIC_API_KEY=sk-ant-1\nTELEGRAM_BOT_TOKEN=77:abc\nTELEGRAM_ALLOWED_USERS=42\n",
  );
  const jobs = [
    {
      id: "0a1b2c3d4e5f",
      name: "Brief",
      prompt: "Sum up.",
      schedule: { kind: "cron", expr: "0 8 * * *" },
    },
    {
      id: "111111111111",
      name: "Script",
      prompt: "",
      no_agent: true,
      schedule: { kind: "interval", minutes: 60 },
    },
  ];
  home.file("cron/jobs.json", JSON.stringify({ jobs }));
  return {
    memory: {
      memory: ["Six beds.", "The router is\nwrong by § one hour."],
      user: ["Prefers short answers."],
    },
    soul,
    skills: ["garden/log"],
    env_names: ["ANTHROPIC_API_KEY", "TELEGRAM_BOT_TOKEN", "TELEGRAM_ALLOWED_USERS"],
    custom_providers: ["lab"],
    timezone: "Europe/Berlin",
    cron_jobs: jobs,
    projects: [
      { name: "Garden", made_by: "person" },
      { name: "Cron Jobs", made_by: "page" },
    ],
    gateway: { "agent:main:telegram:dm:42": "chat" },
    mcp_servers: ["files"],
    profiles: {},
  };
}
