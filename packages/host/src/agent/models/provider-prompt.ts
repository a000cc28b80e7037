import type { AssistantPart, ModelDocument, ModelImage, ModelMessage } from "@holdfast/engine";
import type { ToolSpec, JsonObject } from "@holdfast/protocol";

import type { Prompt, PromptMessage, Tools } from "./load-provider.ts";
import type { AttachmentReader } from "./model-info.ts";
import { detailsOption, splitDetails } from "./servers/reasoning-details.ts";

/** How messages are encoded for one model of a provider. The same messages always give the same prompt. */
export interface PromptFormat {
  /** Marks this model's own parts in the log; no other model gets them back. */
  readonly by: string;
  /** The key for the provider package's own options. */
  readonly options: "anthropic" | "openai" | "google" | "openaiCompatible";
  /** Whether its earlier reasoning is sent back. */
  readonly reasoning: "sent" | "omitted";
  /** Whether the provider requires its own call ids back. */
  readonly callIds: "provider" | "engine";
  readonly cache: "marked" | "automatic";
  readonly file: AttachmentReader;
  readonly takesImages: "yes" | "no";
  /** How many pages of PDFs a request may have; 0 if it takes none. Of further documents the text is sent. */
  readonly pdfPages: number;
}

const ephemeral = { anthropic: { cacheControl: { type: "ephemeral" } } };

export async function toProviderPrompt(
  messages: readonly ModelMessage[],
  format: PromptFormat,
): Promise<Prompt> {
  const sent: SentSoFar = { callIds: new Map(), pdfPages: 0, pdfBytes: 0 };
  const marks = new Set(format.cache === "marked" ? cacheMarks(messages) : []);
  const prompt: Prompt = [];
  let waiting: ImagesToShow = { made: [], returned: [] };
  for (const [index, message] of messages.entries()) {
    // The results of an answer's calls come first: providers want them right after it.
    if (message.role === "tool") {
      const returned = [...waiting.returned, ...(message.images ?? [])];
      waiting = { ...waiting, returned };
    } else {
      prompt.push(...(await shownImages(waiting, format)));
      waiting = { made: imagesToShow(message, format), returned: [] };
    }
    const converted = await toProviderMessages(message, format, sent);
    prompt.push(marks.has(index) ? { ...converted, providerOptions: ephemeral } : converted);
  }
  prompt.push(...(await shownImages(waiting, format)));
  return format.options === "google" ? joinToolResults(prompt) : prompt;
}

/** Pictures that go into a message of their own: those of an answer, and those that its calls returned. */
interface ImagesToShow {
  readonly made: readonly ModelImage[];
  readonly returned: readonly ModelImage[];
}

/** The pictures in an answer that cannot go back as part of it. */
function imagesToShow(message: ModelMessage, format: PromptFormat): readonly ModelImage[] {
  if (message.role !== "assistant") return [];
  return message.parts.flatMap((part) =>
    part.kind === "image" && !goesBackInAnswer(part, format) ? [part] : [],
  );
}

/** Only Google takes pictures in an answer, and checks the signatures of its own. */
function goesBackInAnswer({ opaque }: AssistantPart, format: PromptFormat): boolean {
  return format.options === "google" && opaqueOf(opaque, format) !== null;
}

/** As messages of the user: most providers take pictures in no other. */
async function shownImages(
  { made, returned }: ImagesToShow,
  format: PromptFormat,
): Promise<Prompt> {
  return [
    ...(await imageMessage("in your answer above", made, format)),
    ...(await imageMessage("in the results above", returned, format)),
  ];
}

async function imageMessage(
  where: string,
  images: readonly ModelImage[],
  format: PromptFormat,
): Promise<Prompt> {
  if (images.length === 0) return [];
  const files = format.takesImages === "yes" ? await imageFiles(images, format) : [];
  const missing = images.length - files.length;
  const shown = files.length === 0 ? [] : [`${files.length} shown here`];
  const hidden = missing === 0 ? [] : [`${missing} not shown to you`];
  const text = `[host: pictures ${where}: ${[...shown, ...hidden].join(", ")}.]`;
  return [{ role: "user", content: [{ type: "text", text }, ...files] }];
}

/** What the messages before have used up: a later message never changes what an earlier one becomes (P9). */
interface SentSoFar {
  readonly callIds: Map<string, string>;
  pdfPages: number;
  pdfBytes: number;
}

/** Google wants the results of parallel calls in one turn. The other packages merge them, or their wires accept both. */
function joinToolResults(prompt: Prompt): Prompt {
  const joined: Prompt = [];
  for (const message of prompt) {
    const last = joined.at(-1);
    if (message.role === "tool" && last?.role === "tool")
      joined[joined.length - 1] = { ...last, content: [...last.content, ...message.content] };
    else joined.push(message);
  }
  return joined;
}

/**
 * Where a cacheable prefix may end: after the frame and after the newest two turns. With the mark after the tools, that
 * is the maximum number allowed.
 */
function cacheMarks(messages: readonly ModelMessage[]): readonly number[] {
  const system = messages.findLastIndex(({ role }) => role === "system");
  const turnEnds = messages.flatMap(({ role }, index) => {
    const next = messages[index + 1]?.role;
    return isInputRole(role) && (next === undefined || !isInputRole(next)) ? [index] : [];
  });
  return [...(system === -1 ? [] : [system]), ...turnEnds.slice(-2)];
}

function isInputRole(role: ModelMessage["role"]): boolean {
  return role === "user" || role === "tool" || role === "notice";
}

async function toProviderMessages(
  message: ModelMessage,
  format: PromptFormat,
  sent: SentSoFar,
): Promise<PromptMessage> {
  const { callIds } = sent;
  switch (message.role) {
    case "system":
      return { role: "system", content: message.text };
    case "notice":
      return { role: "user", content: [{ type: "text", text: message.text }] };
    case "user":
      return { role: "user", content: await toUserContent(message, format, sent) };
    case "assistant": {
      const content: AssistantContent = [];
      for (const part of message.parts)
        content.push(...(await toAssistantPart(part, format, callIds)));
      // Providers refuse an answer without content.
      const isEmpty = !content.some(({ type }) => type !== "reasoning");
      if (isEmpty && message.parts.some(({ kind }) => kind === "image"))
        content.push({ type: "text", text: "(a picture)" });
      const details = detailsIn(message.parts, format);
      return details.length === 0
        ? { role: "assistant", content }
        : {
            role: "assistant",
            content,
            providerOptions: { [format.options]: detailsOption(details) },
          };
    }
    case "tool": {
      const toolCallId = callIds.get(message.callId) ?? message.callId;
      const output = { type: "text", value: message.output } as const;
      const toolName = wireName(message.name);
      return { role: "tool", content: [{ type: "tool-result", toolCallId, toolName, output }] };
    }
  }
}

type UserContent = Extract<PromptMessage, { role: "user" }>["content"];

async function toUserContent(
  { text, images = [], documents = [] }: Extract<ModelMessage, { role: "user" }>,
  format: PromptFormat,
  sent: SentSoFar,
): Promise<UserContent> {
  const files: UserContent = [];
  let shown = text;
  // From the end, so that the ranges before stay where they are.
  for (const document of await takenDocuments(documents, format, sent)) {
    const [from, to] = document.quoted;
    shown = `${shown.slice(0, from).trimEnd()}${shown.slice(to)}`;
    const { data, name: filename } = document;
    files.unshift({ type: "file", mediaType: pdfType, filename, data: { type: "data", data } });
  }
  if (format.takesImages === "yes") files.push(...(await imageFiles(images, format)));
  // Providers refuse empty text.
  return [{ type: "text", text: shown === "" ? "(no text)" : shown }, ...files];
}

type FileContent = Extract<UserContent[number], { type: "file" }>;

/** Without those that are gone, or of a kind that providers do not take. */
async function imageFiles(
  images: readonly ModelImage[],
  { file }: PromptFormat,
): Promise<FileContent[]> {
  const files: FileContent[] = [];
  for (const { blobId, mediaType } of images) {
    const data = imageTypes.has(mediaType) ? await file(blobId, "image") : null;
    if (data !== null) files.push({ type: "file", mediaType, data: { type: "data", data } });
  }
  return files;
}

const pdfType = "application/pdf";
/** Of all PDFs in a request: providers take some 30 MB, in base64. */
const maxPdfBytes = 20 * 1024 * 1024;

/** The documents that go as files, last first. */
async function takenDocuments(
  documents: readonly ModelDocument[],
  { file, pdfPages }: PromptFormat,
  sent: SentSoFar,
): Promise<readonly (ModelDocument & { readonly data: Uint8Array })[]> {
  const taken: (ModelDocument & { readonly data: Uint8Array })[] = [];
  for (const document of documents) {
    if (sent.pdfPages + document.pages > pdfPages) continue;
    const data = await file(document.blobId, "pdf");
    if (data === null || sent.pdfBytes + data.byteLength > maxPdfBytes) continue;
    sent.pdfPages += document.pages;
    sent.pdfBytes += data.byteLength;
    taken.unshift({ ...document, data });
  }
  return taken;
}

const imageTypes = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

type AssistantContent = Extract<PromptMessage, { role: "assistant" }>["content"];

async function toAssistantPart(
  part: AssistantPart,
  format: PromptFormat,
  callIds: Map<string, string>,
): Promise<AssistantContent> {
  const own = opaqueOf(part.opaque, format);
  const { details, rest } = splitDetails(own?.options);
  const providerOptions =
    Object.keys(rest).length === 0 ? {} : { providerOptions: { [format.options]: rest } };
  switch (part.kind) {
    case "text":
      return part.text === "" ? [] : [{ type: "text", text: part.text, ...providerOptions }];
    case "reasoning":
      // Reasoning of other models, and truncated reasoning, has no signature that this provider would accept.
      if (own === null || format.reasoning === "omitted") return [];
      // The message gives it back.
      if (details.length > 0) return [];
      return [{ type: "reasoning", text: part.text, ...providerOptions }];
    case "image": {
      if (!goesBackInAnswer(part, format)) return [];
      const files = await imageFiles([part], format);
      return files.map((file) => ({ ...file, ...providerOptions }));
    }
    case "call": {
      const id = format.callIds === "provider" && own?.id !== undefined ? own.id : part.callId;
      callIds.set(part.callId, id);
      const input = part.malformed ? { malformed: part.input } : part.input;
      return [
        {
          type: "tool-call",
          toolCallId: id,
          toolName: wireName(part.name),
          input,
          ...providerOptions,
        },
      ];
    }
  }
}

function detailsIn(parts: readonly AssistantPart[], format: PromptFormat): readonly JsonObject[] {
  if (format.reasoning === "omitted") return [];
  return parts.flatMap(({ opaque }) => splitDetails(opaqueOf(opaque, format)?.options).details);
}

/** A part's provider metadata. */
export interface OpaquePart {
  readonly by: string;
  readonly id?: string;
  readonly options?: JsonObject;
}

function opaqueOf(opaque: JsonObject | undefined, { by }: PromptFormat): OpaquePart | null {
  if (opaque?.["by"] !== by) return null;
  const { id, options } = opaque;
  const isObject = typeof options === "object" && options !== null && !Array.isArray(options);
  return {
    by,
    ...(typeof id === "string" && { id }),
    ...(isObject && { options }),
  };
}

/** A model sometimes calls a tool it was never given; a name the provider cannot parse would be refused forever. */
export function wireName(name: string): string {
  return name.replaceAll(/[^a-zA-Z0-9_-]/g, "_").slice(0, 64) || "_";
}

export function toProviderTools(
  specs: readonly ToolSpec[],
  { cache, options }: Pick<PromptFormat, "cache" | "options">,
): Tools {
  return specs.map(({ name, description, input }, index) => ({
    type: "function",
    name: wireName(name),
    description,
    // By contract it is JSON Schema; how a provider interprets it is its own affair.
    inputSchema: { type: "object", properties: {}, ...input },
    // By default, OpenAI accepts only schemas of its own strict kind.
    ...(options === "openai" && { strict: false }),
    ...(cache === "marked" && index === specs.length - 1 && { providerOptions: ephemeral }),
  }));
}
