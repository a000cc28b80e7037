import type { Client, ConnectionState } from "@holdfast/client";
import {
  defaultMode,
  type SessionId,
  type SessionMode,
  type UsageTotalsView,
} from "@holdfast/protocol";
import { type RenderStyle } from "../screen/paint.ts";
import { chatStrings } from "../strings/chat.ts";
import { cleanLine } from "../screen/text.ts";
import { fitTo, widthOf } from "../screen/width.ts";

export interface FooterState {
  readonly model: string;
  /** `undefined` before there is a session. Shown if it is not the usual one. */
  readonly mode: SessionMode | undefined;
  readonly usage: UsageTotalsView | undefined;
  readonly connection: ConnectionState;
  /** What the keys do right now. */
  readonly keys: string;
}

const texts = chatStrings.footer;

/** The model, its usage and the connection; the keys if there is room. */
export function footerRow(
  { model, mode, usage, connection, keys }: FooterState,
  style: RenderStyle,
): string {
  const { width, paint } = style;
  const facts = [
    texts.connection[connection],
    ...(mode === undefined || mode === defaultMode ? [] : [texts.mode(mode)]),
    cleanLine(model),
    ...(usage === undefined ? [] : usageTexts(usage)),
  ];
  const left = facts.filter((fact) => fact !== "").join(" · ");
  const gap = width - widthOf(left) - widthOf(keys);
  const row = gap < 2 || keys === "" ? fitTo(left, width) : left + " ".repeat(gap) + keys;
  return connection === "live" ? paint("dim", row) : paint("bad", row);
}

function usageTexts({ input, output, costMicros }: UsageTotalsView): string[] {
  const cost = costMicros === 0 ? [] : [`$${(costMicros / 1e6).toFixed(costMicros < 1e5 ? 4 : 2)}`];
  return [texts.usage(shortNumber(input), shortNumber(output)), ...cost];
}

function shortNumber(value: number): string {
  if (value < 1_000) return String(value);
  return value < 1e6 ? `${(value / 1e3).toFixed(1)}k` : `${(value / 1e6).toFixed(1)}M`;
}

/** What the footer shows beyond the session itself. Loaded when it may have changed, and never waited for. */
export class FooterData {
  readonly #client: Pick<Client, "readUsage" | "listModels">;
  readonly #onChange: () => void;
  #defaultModel: string;
  #requests = 0;
  #usage: { readonly sessionId: SessionId; readonly totals: UsageTotalsView } | undefined;

  constructor(
    client: Pick<Client, "readUsage" | "listModels">,
    model: string | undefined,
    onChange: () => void,
  ) {
    this.#client = client;
    this.#defaultModel = model ?? "";
    this.#onChange = onChange;
  }

  /** The model of sessions that name none; empty until it is known. */
  get defaultModel(): string {
    return this.#defaultModel;
  }

  usageOf(id: SessionId | undefined): UsageTotalsView | undefined {
    return this.#usage?.sessionId === id ? this.#usage?.totals : undefined;
  }

  async loadDefaultModel(): Promise<void> {
    const listed = await this.#client.listModels();
    if (!listed.ok || this.#defaultModel !== "") return;
    this.#defaultModel = listed.value.usual;
    this.#onChange();
  }

  async loadUsage(id: SessionId): Promise<void> {
    this.#requests += 1;
    const request = this.#requests;
    const read = await this.#client.readUsage({ query: { sessionId: id } });
    // A later request may have been answered first.
    if (!read.ok || request !== this.#requests) return;
    this.#usage = { sessionId: id, totals: read.value.usage };
    this.#onChange();
  }
}
