import type { ElicitRequestParams, ElicitResult } from "@modelcontextprotocol/client";
import type { PersonsAnswer, ToolCall, ToolContext } from "@holdfast/engine";
import { formField, type JsonObject, jsonObject } from "@holdfast/protocol";
import { readAnswer } from "./read-answer.ts";
import { type AskedField, readForm } from "./read-form.ts";
import { elicitationStrings as t } from "./strings.ts";

/** The questions that a server asks a person during one call. */
export interface ServerQuestions {
  elicit(params: ElicitRequestParams, wanted: AbortSignal): Promise<ElicitResult>;
  /** Asks the person to open a page. */
  askToOpen(url: string, message: string, wanted?: AbortSignal): Promise<"opened" | "not opened">;
  /** What became of questions that were not answered, for the model. */
  readonly notes: readonly string[];
  /** It cannot be told whose question it was. */
  addUnplaced(): void;
}

export interface ServerQuestionsDeps {
  readonly server: string;
  readonly tool: string;
  readonly call: Pick<ToolCall, "lane" | "rights">;
  readonly ask: ToolContext["ask"];
}

/** A server that waits for a person blocks its run, so it does not wait for days as questions at rest do. */
const answerTimeMs = 15 * 60_000;
const maxQuestions = 10;
/** How often a person may correct an answer that does not fit. */
const maxTries = 5;
const maxMessageLength = 2_000;
const maxUrlLength = 2_000;

export function createServerQuestions(deps: ServerQuestionsDeps): ServerQuestions {
  const { server, tool, call, ask } = deps;
  const notes = new Set<string>();
  let asked = 0;

  /** Only people who answer for the owner are asked: a server takes their word for the owner's. */
  const isUnattended = ask === undefined || call.rights?.approvals === false || isByWebhook(call);

  async function askPerson(input: JsonObject, signal?: AbortSignal): Promise<PersonsAnswer> {
    if (ask === undefined) return { status: "stopped" };
    const timeLimitMs = answerTimeMs;
    return ask({ input, timeLimitMs, ...(signal !== undefined && { signal }) });
  }

  function refusal(): ElicitResult | null {
    if (isUnattended) return decline(t.notes.unattended);
    asked += 1;
    return asked > maxQuestions ? decline(t.notes.tooMany) : null;
  }

  function decline(note: string): ElicitResult {
    notes.add(note);
    return { action: "decline" };
  }

  function unanswered({ status }: PersonsAnswer): ElicitResult {
    if (status === "declined") return decline(t.notes.declined);
    if (status === "expired") notes.add(t.notes.expired);
    return { action: "cancel" };
  }

  async function fillForm(
    fields: readonly AskedField[],
    message: string,
    wanted: AbortSignal,
  ): Promise<ElicitResult> {
    let problems: readonly string[] = [];
    for (let tries = 0; tries < maxTries; tries += 1) {
      const answer = await askPerson(formQuestion(deps, fields, message, problems), wanted);
      if (answer.status !== "answered") return unanswered(answer);
      const read = readAnswer(fields, answer.answer);
      if (read.ok) return { action: "accept", content: { ...read.content } };
      ({ problems } = read);
    }
    return decline(t.notes.noFit);
  }

  async function askToOpen(url: string, message: string, wanted?: AbortSignal) {
    const question = linkQuestion(deps, url, message);
    if (question === null) {
      notes.add(t.notes.unsafeLink);
      return { action: "decline" } as const;
    }
    const answer = await askPerson(question, wanted);
    return answer.status === "answered" ? ({ action: "accept" } as const) : unanswered(answer);
  }

  return {
    async elicit(params, wanted) {
      const refused = refusal();
      if (refused !== null) return refused;
      if (params.mode === "url") return askToOpen(params.url, params.message, wanted);
      const fields = readForm(params.requestedSchema);
      return fields === null
        ? decline(t.notes.unreadable)
        : fillForm(fields, params.message, wanted);
    },
    async askToOpen(url, message, wanted) {
      if (refusal() !== null) return "not opened";
      const { action } = await askToOpen(url, message, wanted);
      return action === "accept" ? "opened" : "not opened";
    },
    get notes() {
      return [...notes];
    },
    addUnplaced: () => void notes.add(t.notes.unplaced),
  };

  function formQuestion(
    { server: name }: ServerQuestionsDeps,
    fields: readonly AskedField[],
    message: string,
    problems: readonly string[],
  ): JsonObject {
    const secrets = fields.filter(looksSecret).map(({ title }) => title);
    const lead = [
      ...(problems.length === 0 ? [] : [t.again(problems)]),
      `${t.lead(name, tool)}\n\n${quote(message)}`,
      ...(secrets.length === 0 ? [] : [t.secretAsked(secrets)]),
      t.kept(server),
    ];
    const [only] = fields;
    const isBare = fields.length === 1 && only !== undefined && isPlainQuestion(only);
    const list = fields.map((field) => t.field(field)).join("\n");
    const question = isBare ? lead : [...lead, list, t.hint(fields[0]?.title ?? "")];
    return {
      server: name,
      question: question.join("\n\n"),
      choices: choicesFor(fields),
      lead: lead.join("\n\n"),
      form: fields.map((field) => jsonObject.parse(formField.parse(field))),
    };
  }

  function linkQuestion(
    { server: name }: ServerQuestionsDeps,
    address: string,
    message: string,
  ): JsonObject | null {
    const url = URL.parse(address);
    if (url === null || address.length > maxUrlLength || !isSafe(url)) return null;
    const lead = `${t.linkLead(name, tool)}\n\n${quote(message)}\n\n${t.host(url.host)}`;
    return {
      server: name,
      question: `${lead}\n\n${url.href}`,
      choices: [t.opened],
      lead,
      link: url.href,
    };
  }
}

function isByWebhook({ lane }: Pick<ToolCall, "lane">): boolean {
  return lane?.startsWith("webhook:") === true;
}

/** A page that people enter something on. Names and passwords in an address are a trick. */
function isSafe({ protocol, hostname, username, password }: URL): boolean {
  const isHere = protocol === "http:" && /^(?:localhost|127\.0\.0\.1|\[::1\])$/.test(hostname);
  return (protocol === "https:" || isHere) && username === "" && password === "";
}

/** The server's own words, marked as such; a link in them shows where it leads. */
function quote(message: string): string {
  const text = message.slice(0, maxMessageLength).toWellFormed().replaceAll("](", "] (");
  return text
    .replaceAll("<", "‹")
    .split("\n")
    .map((line) => `> ${line}`)
    .join("\n");
}

const secretWords =
  /pass(?:word|wort|phrase|code)|secret|api.?key|token|credential|private.?key|\bpin\b|cvv|card.?number/i;

function looksSecret({ name, title, kind }: AskedField): boolean {
  return kind === "text" && secretWords.test(`${name} ${title}`);
}

/** Its message says what is asked. */
function isPlainQuestion({ kind, about }: AskedField): boolean {
  return kind === "yes_or_no" || kind === "choice" || (kind === "text" && about === undefined);
}

const maxButtons = 10;

/** What can be answered with one press. */
function choicesFor(fields: readonly AskedField[]): string[] {
  const [only] = fields;
  if (fields.length === 1 && only?.kind === "yes_or_no") return [t.yes, t.no];
  const labels = (only?.options ?? []).map(({ label }) => label);
  if (fields.length === 1 && only?.kind === "choice" && labels.length <= maxButtons) return labels;
  return fields.every(({ isNeeded, usual }) => !isNeeded || usual !== undefined) ? [t.asItIs] : [];
}
