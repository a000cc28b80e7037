export interface Sizes {
  readonly messages: number;
  readonly streamMs: number;
  readonly turns: number;
}

export const fullSizes: Sizes = { messages: 10_000, streamMs: 20_000, turns: 1_000 };
export const quickSizes: Sizes = { messages: 50, streamMs: 1_000, turns: 5 };
