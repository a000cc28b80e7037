/** The language of every table of texts in this repository. A translation brings its own. */
const locale = "en";
const rules = new Intl.PluralRules(locale);
const numbers = new Intl.NumberFormat(locale);

export interface PluralForms {
  readonly one: string;
  readonly other: string;
}

/** The form that fits the count; `#` in it stands for the number: `plural(2, { one: "# turn", other: "# turns" })`. */
export function plural(count: number, { one, other }: PluralForms): string {
  const form = rules.select(count) === "one" ? one : other;
  return form.replaceAll("#", numbers.format(count));
}

const dollars = new Intl.NumberFormat(locale, { style: "currency", currency: "USD" });
const smallDollars = new Intl.NumberFormat(locale, {
  style: "currency",
  currency: "USD",
  maximumFractionDigits: 4,
});

/** Takes millionths of a dollar. */
export function formatDollars(micros: number): string {
  return (micros < 100_000 ? smallDollars : dollars).format(micros / 1_000_000);
}

const percents = new Intl.NumberFormat(locale, { style: "percent" });

export function formatPercent(share: number): string {
  return percents.format(share);
}

export function formatNumber(value: number): string {
  return numbers.format(value);
}
