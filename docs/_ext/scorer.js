// Guides before the reference: whoever looks for a name of the code finds it by its exact name.
var Scorer = {
  score: ([page, , , , score]) => (/^(api|checks)\//.test(page) ? score - 12 : score),
  objNameMatch: 30,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
