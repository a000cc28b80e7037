import { shortId, type CommandAnswer } from "@holdfast/client";
import {
  formatNumber,
  type ModelView,
  modeWords,
  sessionMode,
  type SessionView,
} from "@holdfast/protocol";
import { chatStrings } from "../strings/chat.ts";
import { formatTime, sessionTitle } from "../transcript/describe.ts";
import type { Offer, PickerItem } from "./picker.ts";

const texts = chatStrings.picker;

/** What a person can choose from after this answer; `undefined` if there is nothing to choose. */
export function offerFor(answer: CommandAnswer): Offer | undefined {
  const offer = createOffer(answer);
  return offer === undefined || offer.items.length === 0 ? undefined : offer;
}

function createOffer(answer: CommandAnswer): Offer | undefined {
  switch (answer.kind) {
    case "sessions":
      return {
        title: texts.session,
        items: answer.sessions.map((session) =>
          sessionItem(session, session.id === answer.current),
        ),
        // Nobody opens the session that they are in.
        current: answer.sessions.findIndex(({ id }) => id !== answer.current),
      };
    case "hits":
      return {
        title: texts.hit,
        items: answer.hits.map(({ sessionId, title, snippet }) => ({
          label: title ?? shortId(sessionId),
          detail: snippet,
          command: `/resume ${sessionId}`,
        })),
      };
    case "model":
      return offerModels(answer);
    case "mode":
      return {
        title: texts.mode,
        items: sessionMode.options.map((mode) => ({
          label: mode,
          detail: modeWords[mode].help,
          command: `/mode ${mode}`,
        })),
        current: sessionMode.options.indexOf(answer.mode),
      };
    case "persona":
      return {
        title: texts.persona,
        items: answer.personas.map(({ name, text, isDefault }) => ({
          label: name,
          detail: [...(isDefault ? [texts.default] : []), text].join(" · "),
          command: `/persona ${name}`,
        })),
        current: answer.personas.findIndex(({ id }) => id === answer.current),
      };
    case "project":
      return {
        title: texts.project,
        items: answer.projects.map(({ name, text }) => ({
          label: name,
          detail: text,
          command: `/project ${name}`,
        })),
        current: answer.projects.findIndex(({ name }) => name === answer.current),
      };
    default:
      return undefined;
  }
}

function sessionItem(session: SessionView, isCurrent: boolean): PickerItem {
  const { id, sortAt, messageCount } = session;
  const facts = [
    ...(isCurrent ? [texts.current] : []),
    formatTime(sortAt),
    chatStrings.sessions.messages(messageCount),
    shortId(id),
  ];
  return { label: sessionTitle(session), detail: facts.join(" · "), command: `/resume ${id}` };
}

function offerModels({ model, usual, listed }: Extract<CommandAnswer, { kind: "model" }>): Offer {
  const usable = listed.filter((item) => item.usable);
  return {
    title: texts.model,
    items: usable.map((item) => ({
      label: item.name,
      detail: [
        ...(item.name === (model ?? usual) ? [texts.current] : []),
        ...(item.name === usual ? [texts.default] : []),
        ...modelFacts(item),
      ].join(" · "),
      command: `/model ${item.name}`,
    })),
    current: usable.findIndex(({ name }) => name === (model ?? usual)),
  };
}

const dollars = new Intl.NumberFormat("en", { style: "currency", currency: "USD" });

function modelFacts({ window, price, images }: ModelView): string[] {
  return [
    texts.window(formatNumber(window)),
    ...(images ? [] : [texts.noImages]),
    ...(price === null
      ? []
      : [texts.price(dollars.format(price.input), dollars.format(price.output))]),
  ];
}
