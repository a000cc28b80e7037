/** Where something is said: a chat and, where the platform has them, a thread of it. */
export interface ChatAddress {
  readonly chat: string;
  readonly thread: string | null;
  readonly kind: "private" | "group";
}

export interface Person {
  readonly id: string;
  readonly name: string;
}

/** A file that a person sent. Its bytes are fetched when somebody wants them. */
export interface IncomingFile {
  readonly kind: "file" | "image";
  readonly name: string;
  readonly mediaType: string;
  readonly size: number | null;
  readonly reference: string;
}

interface IncomingBase {
  readonly address: ChatAddress;
  readonly person: Person;
  /** What people call the chat, where the platform told. */
  readonly chatTitle?: string;
  /** The platform's name for the message that it is about, in its chat. */
  readonly messageId: string;
}

export type Incoming =
  | (IncomingBase & {
      readonly kind: "message" | "edit";
      readonly text: string;
      readonly files: readonly IncomingFile[];
      /** The bot was meant: always so in a private chat. */
      readonly addressed: boolean;
      /** The beginning of what it answers, where that is not the bot's own last word. */
      readonly quoted: string | null;
    })
  | (IncomingBase & { readonly kind: "press"; readonly press: string; readonly data: string });

/** `text` is Markdown, as a model writes it; the adapter gives it the platform's form. */
export interface Button {
  readonly label: string;
  readonly data: string;
}

export interface OutgoingText {
  readonly text: string;
  readonly buttons?: readonly (readonly Button[])[];
}

export interface OutgoingFile {
  readonly kind: "file" | "image";
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

/**
 * How a call to the platform ended.
 * - `later`: it was certainly not done; it may be, after this long.
 * - `refused`: it was not done, and never will be as it is.
 * - `unknown`: it may have been done.
 */
export type PlatformFailure =
  | {
      readonly status: "later";
      readonly afterMs: number;
      /** Nobody else would be answered either. */
      readonly isAway: boolean;
      readonly code: string;
      readonly message: string;
    }
  | { readonly status: "refused"; readonly code: string; readonly message: string }
  | { readonly status: "unknown"; readonly code: string; readonly message: string };

export type SendResult =
  | { readonly status: "sent"; readonly platformId: string }
  /** There is nobody there to hear it, and there was not to be. */
  | { readonly status: "unwanted"; readonly code: string }
  | PlatformFailure;
export type EditResult = { readonly status: "edited" } | PlatformFailure;
export type FetchResult =
  | { readonly status: "fetched"; readonly bytes: Uint8Array }
  | { readonly status: "too_large" }
  | PlatformFailure;

/** What is sent, whatever it says. */
export interface SendMeta {
  /** The same for every try of the same thing, and never another's. */
  readonly id: string;
  /** The platform's name for the message that it answers. */
  readonly replyTo: string | null;
}

export interface PlatformCapabilities {
  /** What becomes of a thing that is sent again under its id: it counts once, or stands there twice. */
  readonly repeats: "dropped" | "shown";
  readonly edits: boolean;
  readonly buttons: boolean;
  readonly typing: boolean;
  readonly files: boolean;
}

export interface PlatformLimits {
  /** Of one message, in UTF-16 units of its Markdown. */
  readonly textUnits: number;
  /** Of a button's data. */
  readonly buttonBytes: number;
  readonly fileBytes: number;
  /** How far apart two calls that show something in one place have to be. */
  readonly paceMs: (place: ChatAddress) => number;
  /** How many such calls a second the platform takes from one bot. */
  readonly callsPerSecond: number;
}

export interface BotIdentity {
  readonly id: string;
  readonly name: string;
}

export interface CommandMenuItem {
  readonly name: string;
  readonly help: string;
}

/** One page of what came in. Confirmed by asking for what follows `next`. */
export type ReceiveResult =
  | { readonly status: "received"; readonly incoming: readonly Incoming[]; readonly next: number }
  /** Somebody else asks for the same bot's messages. `message`: what to do about it. */
  | { readonly status: "contended"; readonly message: string }
  | PlatformFailure;

/**
 * A chat platform. Nothing here is thrown but by a bug: whatever the platform or the network does is a value. Sends happen
 * at most once for each call; an adapter repeats nothing by itself.
 */
export interface PlatformAdapter {
  readonly platform: string;
  readonly capabilities: PlatformCapabilities;
  readonly limits: PlatformLimits;
  identify(
    signal: AbortSignal,
  ): Promise<({ readonly status: "identified" } & BotIdentity) | PlatformFailure>;
  /** Has what is new pushed to an address, or (`null`) kept until it is asked for. */
  subscribe(
    hook: { readonly url: string; readonly secret: string } | null,
    signal: AbortSignal,
  ): Promise<{ readonly status: "subscribed" } | PlatformFailure>;
  /** What came in from `cursor` on. Who waits does so for some time when there is nothing. */
  receive(cursor: number, patience: "wait" | "look", signal: AbortSignal): Promise<ReceiveResult>;
  /** What a platform pushed, decoded: `null` when it is nothing that we know. */
  decodePush(pushed: unknown): Incoming | null;
  send(
    place: ChatAddress,
    words: OutgoingText,
    parcel: SendMeta,
    signal: AbortSignal,
  ): Promise<SendResult>;
  sendFile(
    place: ChatAddress,
    file: OutgoingFile,
    parcel: SendMeta,
    signal: AbortSignal,
  ): Promise<SendResult>;
  /** The same again is no error. Only asked for where edits are declared. */
  edit(
    place: ChatAddress,
    platformId: string,
    words: OutgoingText,
    signal: AbortSignal,
  ): Promise<EditResult>;
  showTyping(place: ChatAddress, signal: AbortSignal): Promise<void>;
  /** Ends the waiting mark of a button that was pressed; `text` is shown to the one who pressed. */
  acknowledgePress(press: string, text: string, signal: AbortSignal): Promise<void>;
  fetchFile(file: IncomingFile, signal: AbortSignal): Promise<FetchResult>;
  publishCommands(commands: readonly CommandMenuItem[], signal: AbortSignal): Promise<void>;
}
