// Lists a folder of runs, compares three with keys and two with clicks, and opens one,
// wide and on a phone:
//
//	node runs.mjs LINK
import assert from 'node:assert/strict'
import { end, inspect, narrow, open, wide } from './browser.mjs'

const view = await open(process.argv[2])
const { page } = view
const press = async (...keys) => { for (const key of keys) await page.keyboard.press(key) }
const chosen = page.locator('input[name=run]:checked')

// both inspects a page at both widths, and its trends and figures at the narrow one.
async function both() {
  await page.waitForLoadState('load')
  await inspect(view)
  await page.setViewportSize(narrow)
  await page.emulateMedia({ colorScheme: 'dark' })
  await inspect(view)
  for (const image of await page.locator('figure img').all()) {
    const [shown, own] = await image.evaluate((i) => [i.getBoundingClientRect().width, i.naturalWidth])
    assert.ok(Math.abs(shown - own) < 2, `a figure of ${own} pixels is scaled to ${shown}`)
  }
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize(wide)
}
// opens presses keys or clicks, which lead to a page.
async function opens(pattern, act) {
  await act()
  await page.waitForURL(pattern)
  await both()
}
const link = (selector, text) => page.locator(selector, { hasText: text }).first()

assert.match(page.url(), /\/runs$/)
assert.equal(await page.locator('main tbody tr').count(), 5)
await both()
await press('?')
assert.match(await page.locator('#help').innerText(), /compare the chosen runs/)
await press('Escape')
await press('j', 'x', 'j', 'x', 'j', 'x')
assert.equal(await chosen.count(), 3)
await press('x')
assert.equal(await chosen.count(), 2)
await press('x')
await opens(/\/compare\?(run=[^&]*&?){3}$/, () => press('c'))
assert.equal(await page.locator('main table').first().locator('tbody tr').count(), 3)
await opens(/\/runs$/, () => press('u'))

for (const run of ['first', 'second']) await page.check(`input[value=${run}]`)
for (const other of ['bare', 'untrained', 'rollout']) await page.uncheck(`input[value=${other}]`)
await opens(/\/compare\?/, () => page.getByRole('button', { name: 'Compare the chosen runs' }).click())
assert.ok((await page.locator('#settings tbody').innerText()).includes('submit.learning-rate'))
assert.equal(await page.locator('#flips tbody tr').count(), 2)
await opens(/\/g\/a@2$/, () => link('#flips tbody tr', 'a').locator('a').first().click())
await opens(/\/runs$/, async () => { await page.goto(view.origin + '/') })

await opens(/\/r\/first$/, () => link('main tbody a', 'first').click())
for (const tile of ['Validation', 'Training', 'Kept', 'Failed', 'Tokens', 'Time']) {
  const box = page.locator('.tiles > div', { hasText: tile })
  const value = box.locator('dd').first()
  const [height, line] = await value.evaluate((e) => [e.getBoundingClientRect().height, parseFloat(getComputedStyle(e).lineHeight)])
  assert.ok(height < 1.5 * line, `the figure of ${tile} breaks over lines`)
  assert.equal(await box.locator('svg path').count(), 1, `${tile} has no trend`)
}
const tops = await page.locator('.tiles > div').evaluateAll((all) => all.map((e) => e.getBoundingClientRect().top))
assert.equal(new Set(tops).size, 1, 'the figures are not one row')
const heights = await page.locator('#epochs tbody tr').evaluateAll((all) => all.map((e) => e.getBoundingClientRect().height))
assert.ok(Math.max(...heights) < 40, `rows of epochs are ${heights} pixels high`)
await opens(/\/r\/first\/e\/1$/, () => link('#epochs tbody a', '1').click())
const order = await page.locator('main section[id]').evaluateAll((all) => all.map((e) => e.id))
assert.equal(order.at(-1), 'datasets')
assert.ok(order.indexOf('rewards') < order.indexOf('failures'))
await opens(/\/r\/first\/e\/0$/, () => press('['))
await opens(/\/r\/first$/, () => press('u'))
await opens(/\/r\/(?!first)/, () => press(']'))
await opens(/\/runs$/, () => press('u'))
await end(view, 'listed, compared and opened')
