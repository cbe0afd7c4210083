// Watches a rollout under way. It prints "seen" when the page has attempts, and then
// waits until the page says by itself that there are more, and that it is complete:
//
//	node watch.mjs LINK
import assert from 'node:assert/strict'
import { end, inspect, narrow, open } from './browser.mjs'

const view = await open(process.argv[2])
const { page } = view
const attempts = page.locator('#attempts tbody tr')
await page.locator('#live a').first().click()
await attempts.first().waitFor()
await inspect(view)
await page.setViewportSize(narrow)
await inspect(view)
const seen = await attempts.count()
await attempts.first().locator('a').click()
await page.waitForURL(/\/t\//)
assert.ok((await page.locator('article.message').count()) > 0)
await inspect(view)
await page.goBack()
await attempts.first().waitFor()
let loads = 0
page.on('load', () => loads++)
console.log('seen', seen)
await page.getByText('The dataset is complete.').waitFor({ timeout: 120_000 })
assert.equal(loads, 0, 'the page was loaded again')
await inspect(view)
await page.locator('#live a').click()
await page.waitForURL(/rollout$/)
await inspect(view)
await end(view, 'complete')
